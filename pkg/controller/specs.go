package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

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
		return nil, &requestError{what: fmt.Sprintf("reading ManifestWork %s/%s", work.Namespace, work.Name), err: err}
	case err != nil || live.UID != work.UID || live.Generation != work.Generation:
		return nil, apierrors.NewConflict(workv1.Resource("manifestworks"), work.Name, fmt.Errorf("it changed in namespace %s", work.Namespace))
	}
	if digest != "" {
		c.specs.whole.Add(digest, &live.Spec)
	}
	return &live.Spec, nil
}

// specPatch is what brings the spec of a work to a revision; the zero value where it means that already.
func (c *Controller) specPatch(ctx context.Context, p *pass, w *rollout.Write) (specChange, error) {
	if w.Revision == nil || w.Work.Digest == w.Revision.Digest {
		return specChange{}, nil
	}
	key := patchKey{from: w.Work.Digest, to: w.Revision.Digest}
	if known, ok := c.specs.patches.Get(key); ok {
		return known.(specChange), nil
	}
	existing, err := c.spec(ctx, p, w.Work.Object, w.Work.Digest)
	if err != nil {
		return specChange{}, err
	}
	patch, err := specPatch(existing, w.Revision.Template)
	if err == nil && key.from != "" {
		c.specs.patches.Add(key, patch)
	}
	return patch, err
}

// specChange is how one spec becomes another.
type specChange struct {
	// merge is a merge patch of the spec; nil for no change.
	merge json.RawMessage
	// operations say the same as a JSON patch of the whole work, where the merge patch would lose a null; nil where it would not.
	operations []operation
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// specPatch touches only what differs in the fields that this binary knows: a field that only a newer CRD knows stays.
func specPatch(existing, wanted *workv1.ManifestWorkSpec) (specChange, error) {
	before, err := json.Marshal(existing)
	if err != nil {
		return specChange{}, fmt.Errorf("encoding the stored spec: %w", err)
	}
	after, err := json.Marshal(wanted)
	if err != nil {
		return specChange{}, fmt.Errorf("encoding the template: %w", err)
	}
	change := specChange{}
	if change.merge, err = jsonpatch.CreateMergePatch(before, after); err != nil {
		return specChange{}, fmt.Errorf("comparing the stored spec with the template: %w", err)
	}
	var patch any
	if err := json.Unmarshal(change.merge, &patch); err != nil {
		return specChange{}, fmt.Errorf("reading the difference to the template: %w", err)
	}
	if losesNull(patch, false) {
		change.operations, err = operations("/spec", change.merge, before)
	}
	return change, err
}

// losesNull says whether a merge patch means other than it says: in a list it replaces what is there, but an API server takes the nulls out of
// the objects in it. Such a work would not be its template, for any hub that does not remember what it wrote (R1, R10).
func losesNull(patch any, inList bool) bool {
	switch v := patch.(type) {
	case map[string]any:
		for _, child := range v {
			if (child == nil && inList) || losesNull(child, inList) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(child any) bool { return losesNull(child, true) })
	}
	return false
}

// operations says a merge patch of what is at a path as a JSON patch, which is taken literally. What else is there stays, also where this binary
// does not know it. Only fields of Go types are on the way, so that no name has to be escaped.
func operations(path string, patch, existing json.RawMessage) ([]operation, error) {
	var wanted, there map[string]json.RawMessage
	if err := json.Unmarshal(patch, &wanted); err != nil {
		return nil, fmt.Errorf("reading what changes at %s: %w", path, err)
	}
	if err := json.Unmarshal(existing, &there); err != nil {
		return nil, fmt.Errorf("reading what is at %s: %w", path, err)
	}
	var out []operation
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		value, at := wanted[key], path+"/"+key
		switch {
		case string(value) == "null":
			// Added before, as what is not there can't be removed: a default may be stored on one work and not on another.
			out = append(out, operation{Op: "add", Path: at, Value: ""}, operation{Op: "remove", Path: at})
		case isObject(value) && isObject(there[key]):
			within, err := operations(at, value, there[key])
			if err != nil {
				return nil, err
			}
			out = append(out, within...)
		default:
			out = append(out, operation{Op: "add", Path: at, Value: value})
		}
	}
	return out, nil
}

func isObject(value json.RawMessage) bool { return bytes.HasPrefix(value, []byte("{")) }
