// Package validate decides what the admission webhook answers about ManifestWorks and ManifestWorkReplicaSets. It is pure: two
// versions of an object in, errors and warnings out.
//
// Every check ratchets: an update is refused only for a problem that it brings. What was wrong with the object before and is left
// as it is never stands in the way, so that an object which got in before these checks did can still be labelled, corrected field by
// field, and above all deleted.
//
// The cost of a check is linear in the size of the objects: the size of the manifests is compared first, and few problems are named.
package validate
