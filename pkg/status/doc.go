// Package status builds the status of a ManifestWorkReplicaSet: one function per condition, and the counts.
//
// It is pure. The conditions follow the table in docs/conditions.md: the stage of the rollout determines their reasons, and the plan
// determines their messages.
package status
