package revision

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"

	"k8s.io/apimachinery/pkg/util/rand"
	hashutil "k8s.io/kubernetes/pkg/util/hash"
	workv1 "open-cluster-management.io/api/work/v1"
)

// ComputeHash returns the short name of a template: the 32-bit FNV-1a hash that the apps/v1 controllers use for pod templates, over the
// template and, if set, the collision count.
//
// The hash only names a revision. The Digest decides whether two templates are the same revision, so a different hash in a later release
// does not start a rollout.
func ComputeHash(template *workv1.ManifestWorkSpec, collisionCount *int32) string {
	hasher := fnv.New32a()
	hashutil.DeepHashObject(hasher, *template)
	if collisionCount != nil {
		count := make([]byte, 8)
		binary.LittleEndian.PutUint32(count, uint32(*collisionCount)) //nolint:gosec // the hash takes the bit pattern, as Kubernetes' own does
		_, _ = hasher.Write(count)
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(hasher.Sum32()), 10))
}
