package cloudevents

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"runtime"
	"slices"
	"sync"
	"weak"

	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/apis/work/v1/validator"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
)

// content is what the works of one revision hold. There is one for each revision, not for each work. It is never changed.
type content struct {
	spec workv1.ManifestWorkSpec
	// payload is the spec as events carry it, encoded once.
	payload func() ([]byte, error)
	// problem is what an agent would refuse, without saying so; nil where it would not.
	problem func() error
}

func newContent(spec *workv1.ManifestWorkSpec) *content {
	c := &content{spec: *spec.DeepCopy()}
	c.payload = sync.OnceValues(func() ([]byte, error) {
		return json.Marshal(&payload.ManifestBundle{
			Manifests: c.spec.Workload.Manifests, DeleteOption: c.spec.DeleteOption,
			ManifestConfigs: c.spec.ManifestConfigs, Executer: c.spec.Executor,
		})
	})
	c.problem = sync.OnceValue(func() error { return validator.ManifestValidator.ValidateManifests(c.spec.Workload.Manifests) })
	return c
}

// contents finds the content that says what a spec says. It keeps none alive: a content that no work holds any more goes away.
type contents struct {
	mu    sync.Mutex
	known map[contentKey]weak.Pointer[content]
}

// contentKey is a digest of the bytes of a spec.
type contentKey [sha256.Size]byte

func newContents() *contents { return &contents{known: map[contentKey]weak.Pointer[content]{}} }

// of returns the content that says what a spec says, byte by byte.
func (c *contents) of(spec *workv1.ManifestWorkSpec) *content {
	key, ok := keyOf(spec)
	if !ok {
		return newContent(spec)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.known[key].Value(); known != nil {
		return known
	}
	made := newContent(spec)
	c.known[key] = weak.Make(made)
	runtime.AddCleanup(made, c.drop, key)
	return made
}

// drop forgets a content that is gone, unless the same came back.
func (c *contents) drop(key contentKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[key].Value() == nil {
		delete(c.known, key)
	}
}

// keyOf digests a spec; false for one that can't be encoded.
func keyOf(spec *workv1.ManifestWorkSpec) (key contentKey, ok bool) {
	hash := sha256.New()
	var length [8]byte
	for i := range spec.Workload.Manifests {
		manifest := &spec.Workload.Manifests[i]
		if manifest.Object != nil {
			return key, false
		}
		binary.BigEndian.PutUint64(length[:], uint64(len(manifest.Raw)))
		hash.Write(length[:])
		hash.Write(manifest.Raw)
	}
	rest := *spec
	rest.Workload.Manifests = nil
	data, err := json.Marshal(&rest)
	if err != nil {
		return key, false
	}
	hash.Write(data)
	hash.Sum(key[:0])
	return key, true
}

// copyOf is a copy of a work that may be changed, but for the bytes of its manifests: those of all works of a revision are the same.
func copyOf(work *workv1.ManifestWork) *workv1.ManifestWork {
	manifests := work.Spec.Workload.Manifests
	bare := *work
	bare.Spec.Workload.Manifests = nil
	copied := bare.DeepCopy()
	copied.Spec.Workload.Manifests = slices.Clone(manifests)
	return copied
}
