package revision

import (
	"math"

	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	// collisionsTried bounds how many collision counts are tried beyond the known one.
	collisionsTried = 8
	// MaxCollisions bounds the collisions that a status or a snapshot can claim: each is a hash of the whole template.
	MaxCollisions = 20
)

// Names reports whether a hash is that of a template under a collision count: one of the first, or the known one. A hash has 32 bits, and
// anybody can find content that has it. So a match proves nothing about content that may come from somebody other than the writers of the
// owner.
func Names(hash string, template *workv1.ManifestWorkSpec, collisionCount *int32) bool {
	if ComputeHash(template, nil) == hash || ComputeHash(template, collisionCount) == hash {
		return true
	}
	for count := range min(max(ptr.Deref(collisionCount, 0), 0), MaxCollisions) + collisionsTried {
		if ComputeHash(template, &count) == hash {
			return true
		}
	}
	return false
}

// NextCollision returns the collision count after a known one. Only a count that no hub wrote is reset.
func NextCollision(collisionCount *int32) int32 {
	return max(ptr.Deref(collisionCount, 0), 0)%math.MaxInt32 + 1
}
