// Package revision knows what a revision of a ManifestWorkReplicaSet is: when two templates
// mean the same, how a revision is named and numbered, and which ones may be pruned.
//
// It is pure: it reads and makes objects, and writes none.
package revision
