// Package plan decides what a build of the hub does about the version that ran before it: what it records, which snapshots it takes of
// ManifestWorkReplicaSets before a newer version reconciles them, and what it restores from them when an older version is back.
//
// It is pure. Decide compares two versions. Snapshot and Restore are about one ManifestWorkReplicaSet each: what was listed
// goes in, the wanted annotations and patches come out. Both say what remains to be done, so that a process that was killed is resumed by
// asking again.
//
// A snapshot is the ledger of an object, in an annotation.
package plan
