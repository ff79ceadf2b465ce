// Package validate makes the decisions of the admission webhook about ManifestWorks and ManifestWorkReplicaSets. It is
// pure: it takes two versions of an object, and returns errors and warnings.
//
// Every check ratchets: an update is rejected only for a problem that it adds. Existing problems that it leaves
// unchanged never block it. So an object that was stored before these checks existed can still be labelled, corrected
// field by field, and above all deleted.
//
// The cost of a check is linear in the size of the objects: the size of the manifests is checked first, and only a few
// problems are named.
package validate
