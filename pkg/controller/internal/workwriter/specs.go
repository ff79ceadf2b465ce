package workwriter

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/lru"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

// specsKept and patchesKept limit the number of whole specs, and of changes between two specs, that are remembered.
// They cover the rollouts in progress.
const (
	specsKept   = 64
	patchesKept = 64
)

// specs finds the specs of trimmed works, and remembers the changes from one spec to another. A rollout needs the same
// changes for each cluster.
type specs struct {
	whole   *lru.Cache
	patches *lru.Cache
}

func newSpecs() *specs { return &specs{whole: lru.New(specsKept), patches: lru.New(patchesKept)} }

type patchKey struct{ from, to revision.Digest }

// Spec returns a whole spec with the same meaning as a work's spec in the cache: either the spec of a revision, or the
// work's own spec from the API server. The error is a conflict if the work has changed since.
func (w *Writer) Spec(
	ctx context.Context, history *revision.History, work *workv1.ManifestWork, digest revision.Digest,
) (*workv1.ManifestWorkSpec, error) {
	if !workcache.IsTrimmed(work) {
		return &work.Spec, nil
	}
	if found := history.ByDigest(digest); found != nil {
		return found.Template, nil
	}
	if digest != "" {
		if known, ok := w.specs.whole.Get(digest); ok {
			return known.(*workv1.ManifestWorkSpec), nil
		}
	}
	live, err := w.Get(ctx, work.Namespace, work.Name)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return nil, &memory.RequestError{What: fmt.Sprintf("reading ManifestWork %s/%s", work.Namespace, work.Name), Err: err}
	case err != nil || live.UID != work.UID || live.Generation != work.Generation:
		return nil, apierrors.NewConflict(workv1.Resource("manifestworks"), work.Name, fmt.Errorf("it changed in namespace %s", work.Namespace))
	}
	if digest != "" {
		w.specs.whole.Add(digest, &live.Spec)
	}
	return &live.Spec, nil
}

// change returns the change to a work's spec to a revision; the zero value if the meaning is already the same.
func (w *Writer) change(ctx context.Context, history *revision.History, write *rollout.Write) (workpatch.Change, error) {
	if !write.ChangesSpec() {
		return workpatch.Change{}, nil
	}
	key := patchKey{from: write.Work.Digest, to: write.Revision.Digest}
	if known, ok := w.specs.patches.Get(key); ok {
		return known.(workpatch.Change), nil
	}
	existing, err := w.Spec(ctx, history, write.Work.Object, write.Work.Digest)
	if err != nil {
		return workpatch.Change{}, err
	}
	change, err := workpatch.Compare(existing, write.Revision.Template)
	if err == nil && key.from != "" {
		w.specs.patches.Add(key, change)
	}
	return change, err
}
