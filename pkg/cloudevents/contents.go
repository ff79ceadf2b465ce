package cloudevents

import (
	"encoding/json"
	"runtime"
	"slices"
	"sync"
	"weak"

	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/apis/work/v1/validator"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// content is the content of all works of one revision. There is one for each revision, not for each work. It is immutable.
type content struct {
	spec workv1.ManifestWorkSpec
	// payload returns the spec as encoded in events. It encodes the spec only once.
	payload func() ([]byte, error)
	// problem returns the error for which an agent would silently reject the spec; nil if the agent would accept it.
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

// contents finds the content that equals a spec. It holds only weak references, so a content is garbage collected when
// no work holds it.
type contents struct {
	mu    sync.Mutex
	known map[work.Sum]weak.Pointer[content]
}

func newContents() *contents { return &contents{known: map[work.Sum]weak.Pointer[content]{}} }

// contentOf returns the content that equals a spec, byte for byte.
func (c *contents) contentOf(spec *workv1.ManifestWorkSpec) *content {
	key, ok := work.SumOf(spec)
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

// drop forgets a content that was garbage collected, unless an equal content was added again.
func (c *contents) drop(key work.Sum) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[key].Value() == nil {
		delete(c.known, key)
	}
}

// copyOf returns a copy of a work. The caller may change everything except the bytes of its manifests, which all works
// of a revision share.
func copyOf(of *workv1.ManifestWork) *workv1.ManifestWork {
	manifests := of.Spec.Workload.Manifests
	bare := *of
	bare.Spec.Workload.Manifests = nil
	copied := bare.DeepCopy()
	copied.Spec.Workload.Manifests = slices.Clone(manifests)
	return copied
}
