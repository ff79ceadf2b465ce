package workcache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"

	"k8s.io/utils/lru"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// digestsKept bounds how many different specs are remembered: a hub has a few for each ManifestWorkReplicaSet at a time.
const digestsKept = 4096

// Digests remembers what specs mean by the bytes that they came in. An API server stores the works of one revision with the same bytes: a
// revision is parsed once and not once for each of its works (P8).
type Digests struct {
	byBytes *lru.Cache
}

// NewDigests returns one that knows nothing yet.
func NewDigests() *Digests { return &Digests{byBytes: lru.New(digestsKept)} }

// Of returns the digest of a spec. It is empty for one that can't be digested: such a spec equals no revision.
func (d *Digests) Of(spec *workv1.ManifestWorkSpec) revision.Digest {
	key, ok := bytesOf(spec)
	if !ok {
		digest, _ := revision.DigestOf(spec)
		return digest
	}
	if known, found := d.byBytes.Get(key); found {
		return known.(revision.Digest)
	}
	digest, _ := revision.DigestOf(spec)
	d.byBytes.Add(key, digest)
	return digest
}

// bytesOf sums a spec up as it was received; false for one whose manifests are no bytes.
func bytesOf(spec *workv1.ManifestWorkSpec) (sum [sha256.Size]byte, ok bool) {
	hash := sha256.New()
	var length [8]byte
	for i := range spec.Workload.Manifests {
		raw := spec.Workload.Manifests[i].Raw
		if raw == nil {
			return sum, false
		}
		binary.BigEndian.PutUint64(length[:], uint64(len(raw)))
		hash.Write(length[:])
		hash.Write(raw)
	}
	rest := *spec
	rest.Workload.Manifests = nil
	data, err := json.Marshal(&rest)
	if err != nil {
		return sum, false
	}
	hash.Write(data)
	hash.Sum(sum[:0])
	return sum, true
}
