package revision

import (
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
)

// collisionsTried bounds how many collision counts are tried beyond the known one.
const collisionsTried = 8

// Holds reports whether a spec is the content that was recorded for a revision. It is digested here, whatever was said of it before: this
// is what a rebuilt revision rests on (R7).
func Holds(spec *workv1.ManifestWorkSpec, recorded Digest) bool {
	digest, err := DigestOf(spec)
	return err == nil && recorded != "" && digest == recorded
}

// Names reports whether a hash is that of a template under any collision count. A hash has 32 bits and can be met on purpose: this proves
// nothing of a content that somebody else than the owner's writers may have made.
func Names(hash string, template *workv1.ManifestWorkSpec, collisionCount *int32) bool {
	if ComputeHash(template, nil) == hash {
		return true
	}
	for count := range ptr.Deref(collisionCount, 0) + collisionsTried {
		if ComputeHash(template, &count) == hash {
			return true
		}
	}
	return false
}
