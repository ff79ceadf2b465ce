// Package handover decides what a ManifestWork holds while a cluster passes from one revision to the next with pruneStrategy
// WhenAvailable: the new revision, followed by the objects that only the old revision has. Once the new revision is available, the kept
// objects are trimmed, and the work holds the new revision exactly.
//
// A combined spec depends only on the two revisions, so a restarted hub recognizes the works of its predecessor.
package handover
