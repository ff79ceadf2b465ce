// Package revision defines the revisions of a ManifestWorkReplicaSet: when two templates mean the same, how a revision is named and
// numbered, and which revisions may be pruned.
//
// It is pure: it reads and builds objects, but does not write them to the API server.
package revision
