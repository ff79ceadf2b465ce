// Package status says what the status of a ManifestWorkReplicaSet is: one function per condition, and the counts.
//
// It is pure. The conditions follow the table in docs/conditions.md: the stage of the rollout decides their reasons, the plan fills
// their messages.
package status
