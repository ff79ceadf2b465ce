package revision

import (
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Candidate is a spec that bears a hash, for want of the revision itself.
type Candidate struct {
	Spec   *workv1.ManifestWorkSpec
	Digest Digest
}

// collisionsTried bounds how many collision counts are tried beyond the known one.
const collisionsTried = 8

// Rebuild finds the template that a lost revision held, from the works that bear its hash (R7): the one whose hash it is or, where
// a release changed the hash function, the one that they all have. It returns nil when neither tells. That they agree counts only
// where the hash is known to be one: what the status does not name may be anything that someone put into a label.
func Rebuild(hash string, candidates []Candidate, collisionCount *int32, known bool) *workv1.ManifestWorkSpec {
	tried := map[Digest]bool{}
	for i := range candidates {
		c := &candidates[i]
		if c.Digest == "" || tried[c.Digest] {
			continue
		}
		tried[c.Digest] = true
		if hashes(c.Spec, hash, collisionCount) {
			return c.Spec
		}
	}
	if known && len(tried) == 1 && candidates[0].Digest != "" {
		return candidates[0].Spec
	}
	return nil
}

// hashes says whether a hash is that of a spec under any collision count.
func hashes(spec *workv1.ManifestWorkSpec, hash string, collisionCount *int32) bool {
	if ComputeHash(spec, nil) == hash {
		return true
	}
	for count := range ptr.Deref(collisionCount, 0) + collisionsTried {
		if ComputeHash(spec, &count) == hash {
			return true
		}
	}
	return false
}
