package workcache

import (
	"k8s.io/utils/lru"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// digestsKept is the maximum number of different specs that are remembered. A hub has a few at a time for each
// ManifestWorkReplicaSet.
const digestsKept = 4096

// Digests remembers the digests of specs by their checksums (P8).
type Digests struct {
	byBytes *lru.Cache
}

// NewDigests returns empty Digests.
func NewDigests() *Digests { return &Digests{byBytes: lru.New(digestsKept)} }

// DigestOf returns the digest of a spec; empty if the spec can't be digested. Such a spec does not equal any revision.
func (d *Digests) DigestOf(spec *workv1.ManifestWorkSpec) revision.Digest {
	key, ok := work.SumOf(spec)
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
