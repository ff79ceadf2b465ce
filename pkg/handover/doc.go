// Package handover decides what a ManifestWork holds while a cluster passes from one revision to the next with pruneStrategy WhenAvailable: the
// new revision, followed by the objects that only the old one has. Once the new revision is available, the kept objects are trimmed, and
// the work holds the new revision exactly.
//
// A combined spec is a function of the two revisions and of nothing else: a hub that was restarted recognizes the works of the hub before it.
package handover
