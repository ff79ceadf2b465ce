// Package plan decides how a build of the hub handles the version that ran before it: the version to record, the snapshots to take of
// ManifestWorkReplicaSets before a newer version reconciles them, and the state to restore from the snapshots after a downgrade.
//
// It is pure. Decide compares two versions. Snapshot and Restore take one listed ManifestWorkReplicaSet, and return the wanted annotations
// and patches. Both return the remaining changes, so a process that starts after another was killed can call them again and continue.
//
// A snapshot is the ledger of an object, in an annotation.
package plan
