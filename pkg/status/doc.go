// Package status says what the status of a ManifestWorkReplicaSet is: one function per condition, and the counts.
//
// It is pure. The conditions follow the table in the README: the stage of the rollout decides their reasons, the plan fills
// their messages.
package status
