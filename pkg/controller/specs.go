package controller

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// specsKept and patchesKept bound how many whole specs, and differences of two, are held: those of rollouts under way.
const (
	specsKept   = 64
	patchesKept = 64
)

// specs finds what slim works held, and remembers how one spec becomes another: a rollout asks for the same for each cluster.
type specs struct {
	whole   *lru.Cache
	patches *lru.Cache
}

func newSpecs() *specs { return &specs{whole: lru.New(specsKept), patches: lru.New(patchesKept)} }

type patchKey struct{ from, to revision.Digest }

// spec is a whole spec with the meaning that a work's spec has in the cache: a revision's, or that of the work as the API
// server has it. The error is a conflict where the work was changed since.
func (c *Controller) spec(ctx context.Context, p *pass, work *workv1.ManifestWork, digest revision.Digest) (*workv1.ManifestWorkSpec, error) {
	if !isSlim(work) {
		return &work.Spec, nil
	}
	if found := p.history.ByDigest(digest); found != nil {
		return found.Template, nil
	}
	if digest != "" {
		if known, ok := c.specs.whole.Get(digest); ok {
			return known.(*workv1.ManifestWorkSpec), nil
		}
	}
	live, err := c.works.WorkV1().ManifestWorks(work.Namespace).Get(ctx, work.Name, metav1.GetOptions{})
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	case err != nil || live.UID != work.UID || live.Generation != work.Generation:
		return nil, apierrors.NewConflict(workv1.Resource("manifestworks"), work.Name, fmt.Errorf("it changed in namespace %s", work.Namespace))
	}
	if digest != "" {
		c.specs.whole.Add(digest, &live.Spec)
	}
	return &live.Spec, nil
}

// specPatch is what brings the spec of a work to a revision; nil where it means that already.
func (c *Controller) specPatch(ctx context.Context, p *pass, w *rollout.Write) (json.RawMessage, error) {
	if w.Revision == nil || w.Work.Digest == w.Revision.Digest {
		return nil, nil
	}
	key := patchKey{from: w.Work.Digest, to: w.Revision.Digest}
	if known, ok := c.specs.patches.Get(key); ok {
		return known.(json.RawMessage), nil
	}
	existing, err := c.spec(ctx, p, w.Work.Object, w.Work.Digest)
	if err != nil {
		return nil, err
	}
	patch, err := specPatch(existing, w.Revision.Template)
	if err == nil && key.from != "" {
		c.specs.patches.Add(key, patch)
	}
	return patch, err
}

// specPatch touches only what differs in the fields that this binary knows: a field that only a newer CRD knows stays.
func specPatch(existing, wanted *workv1.ManifestWorkSpec) (json.RawMessage, error) {
	before, err := json.Marshal(existing)
	if err != nil {
		return nil, fmt.Errorf("encoding the stored spec: %w", err)
	}
	after, err := json.Marshal(wanted)
	if err != nil {
		return nil, fmt.Errorf("encoding the template: %w", err)
	}
	patch, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, fmt.Errorf("comparing the stored spec with the template: %w", err)
	}
	return patch, nil
}
