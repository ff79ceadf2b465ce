package work

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"
)

// Sum identifies a spec by the bytes of its encoding. The API server stores the works of one revision with the same bytes, and the hub
// publishes them so: a revision is read once, not once for each of its works (P8).
type Sum [sha256.Size]byte

// SumOf returns the sum of a spec; false if its manifests are not raw bytes.
func SumOf(spec *workv1.ManifestWorkSpec) (sum Sum, ok bool) {
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
