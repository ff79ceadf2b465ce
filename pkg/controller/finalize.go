package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	workv1 "open-cluster-management.io/api/work/v1"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// finalize deletes the works of an object that is being deleted. The object's deletion waits until the works are gone.
// It comes first: deletion overrides everything else.
func (c *Controller) finalize(ctx context.Context, p *pass) (bool, error) {
	if p.object.DeletionTimestamp.IsZero() {
		added, err := c.patcher(p).AddFinalizer(ctx, p.object.ManifestWorkReplicaSet, workv1alpha1.Finalizer)
		return !added && err == nil, err
	}
	if persisted, err := c.decidePreserve(ctx, p); persisted || err != nil {
		return false, err
	}
	if p.Ledger.Preserve {
		return false, c.preserve(ctx, p)
	}
	if p.object.Spec.CascadeDeletionPolicy == upstream.Foreground && c.waitsForAgents(p) {
		return false, c.reportDeleting(ctx, p, nil)
	}
	over, err := c.deleteWorks(ctx, p)
	if !over && ctx.Err() == nil {
		err = cmp.Or(err, c.reportDeleting(ctx, p, nil))
	}
	return false, err
}

// deleteWorks deletes the works, beginning with those in the cache, and then removes the finalizer. It reports whether nothing remains to
// be deleted. It lists all works from the API server when the cached works are gone, not after each deletion.
func (c *Controller) deleteWorks(ctx context.Context, p *pass) (over bool, err error) {
	if done, err := c.deleteAll(ctx, p, p.works); !done || err != nil {
		return false, err
	}
	works, err := c.liveWorks(ctx, p)
	if err != nil {
		return false, err
	}
	if done, err := c.deleteAll(ctx, p, works); !done || err != nil {
		return false, err
	}
	if p.object.Spec.CascadeDeletionPolicy == upstream.Foreground && slices.ContainsFunc(works, p.named) {
		return false, nil // The event of each deleted work leads to another pass.
	}
	return true, c.patcher(p).RemoveFinalizer(ctx, p.object.ManifestWorkReplicaSet, workv1alpha1.Finalizer)
}

// waitsForAgents reports whether works that are being deleted still exist. The event of each deleted work leads to
// another pass, so the works need not be listed from the API server each time.
func (c *Controller) waitsForAgents(p *pass) bool {
	stays := func(w *workv1.ManifestWork) bool { return w.DeletionTimestamp.IsZero() }
	return slices.ContainsFunc(p.works, p.named) && !slices.ContainsFunc(p.works, stays)
}

// named reports whether a work has a name that a hub gives to works. Otherwise a user added the owner label: the work
// is deleted, but the object's deletion does not wait for it.
func (p *pass) named(w *workv1.ManifestWork) bool { return work.IsName(p.object, w.Name) }

// liveWorks lists the works from the API server: otherwise a work that the cache does not show yet would never be deleted.
func (c *Controller) liveWorks(ctx context.Context, p *pass) ([]*workv1.ManifestWork, error) {
	list, err := c.writer.ListOf(ctx, metav1.NamespaceAll, p.object.Namespace, p.object.Name)
	if err != nil {
		return nil, fmt.Errorf("listing the ManifestWorks of %s: %w", p.key, err)
	}
	works := make([]*workv1.ManifestWork, 0, len(list))
	for i := range list {
		works = append(works, &list[i])
		if !c.shows(&list[i]) {
			p.lookAgain(lostInterval)
		}
	}
	lost, err := c.lostWorks(ctx, p)
	if len(lost) > 0 {
		p.lookAgain(lostInterval) // No event follows: the caches do not show these works.
	}
	return append(works, slices.DeleteFunc(lost, func(w *workv1.ManifestWork) bool { // It lost its label since it was listed.
		return slices.ContainsFunc(works, func(listed *workv1.ManifestWork) bool { return listed.UID == w.UID })
	})...), err
}

// shows reports whether the cache always shows a work of the object.
func (c *Controller) shows(w *workv1.ManifestWork) bool {
	_, labelled := w.Labels[workv1alpha1.LabelReplicaSet]
	return labelled || c.OwnerHash
}

// lostInterval is the interval at which a deletion checks for works without their owner label, as long as any exist.
const lostInterval = 15 * time.Second

// lostWorks returns the works of the object that lost their owner label while a pause, or the absence of a hub, kept the label from being
// restored. The cache shows these works, and each is read from the API server.
func (c *Controller) lostWorks(ctx context.Context, p *pass) ([]*workv1.ManifestWork, error) {
	unowned, err := c.stores.Works.ByIndex(workcache.Unowned, "")
	if err != nil {
		return nil, fmt.Errorf("reading the ManifestWorks without the owner label: %w", err)
	}
	var lost []*workv1.ManifestWork
	for _, cached := range unowned {
		work := cached.(*workv1.ManifestWork)
		if !c.hadOwner(p.object, p.key, work) || c.maybeAnothers(p, work) {
			continue
		}
		live, err := c.whole(ctx, work)
		if err != nil {
			return nil, err
		}
		if live != nil && c.hadOwner(p.object, p.key, live) {
			lost = append(lost, live)
		}
	}
	return lost, nil
}

// hadOwner reports whether a work without the owner label belongs to an object: by its name, by the hash of one of the object's revisions,
// and by the time when the hub wrote it.
func (c *Controller) hadOwner(object *replicaset.Object, key string, w *workv1.ManifestWork) bool {
	return work.LostOwner(object, w, func(hash string) bool {
		if hash == object.Status.UpdateRevision || hash == object.Status.CurrentRevision {
			return true
		}
		revisions, err := c.stores.Revisions.ByIndex(workcache.ByOwner, key)
		return err == nil && slices.ContainsFunc(revisions, func(rev any) bool {
			return rev.(*appsv1.ControllerRevision).Labels[workv1alpha1.LabelControllerHash] == hash
		})
	})
}

// maybeAnothers reports whether a work without the owner label may belong to another object with the same name and template in another
// namespace, whose Placements select the cluster or may have selected it. The deletion of this object must not delete the other's
// workloads. Names that are derived from the namespace and the UID belong only to this object.
func (c *Controller) maybeAnothers(p *pass, w *workv1.ManifestWork) bool {
	if slices.Contains(work.Names(p.object)[1:], w.Name) {
		return false
	}
	return slices.ContainsFunc(c.stores.ReplicaSets.List(), func(cached any) bool {
		other := cached.(*replicaset.Object)
		return other.UID != p.object.UID && c.hadOwner(other, other.Namespace+"/"+other.Name, w) && c.maySelect(other, w)
	})
}

// maySelect reports whether an object has the Placement that a work names, and its Placements select the work's cluster. They may have
// selected it earlier if the object is paused, because it does not delete works then. They may select it if their decisions are not known.
func (c *Controller) maySelect(object *replicaset.Object, w *workv1.ManifestWork) bool {
	specs := object.Spec.PlacementRefs
	if !slices.ContainsFunc(specs, func(ref workv1alpha1.LocalPlacementReference) bool {
		return ref.Name == w.Labels[workv1alpha1.LabelPlacement]
	}) {
		return false
	}
	counted := min(len(specs), workv1alpha1.MaxPlacementRefs)
	refs, _, err := c.observeRefs(object.Namespace, specs[:counted], c.Clock.Now())
	if err != nil || object.Spec.Paused || !placement.SelectionKnown(refs, len(specs)-counted) {
		return true
	}
	_, selects := placement.Owners(refs)[w.Namespace]
	return selects
}

// deleteAll deletes as many works as one pass may, and reports whether all of them are deleted. If not, the next pass
// continues.
func (c *Controller) deleteAll(ctx context.Context, p *pass, works []*workv1.ManifestWork) (done bool, err error) {
	var attempts []memory.Attempt
	var remaining []*workv1.ManifestWork
	for _, work := range works {
		if work.DeletionTimestamp.IsZero() {
			attempt := deletionOf(work)
			attempt.Last = true // A rejection from before the deletion of the object must not delay it.
			attempts, remaining = append(attempts, attempt), append(remaining, work)
		}
	}
	results := c.tryAll(ctx, p, attempts, func(i int) error { return c.deleteAny(ctx, p, remaining[i]) })
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	var errs []error
	done = true
	for _, result := range results {
		switch {
		case errors.Is(result.Err, memory.ErrLater):
			done = false
			c.triesAgain(p, result.Err)
		case result.Err != nil:
			errs = append(errs, result.Err)
		}
	}
	return done, utilerrors.NewAggregate(errs)
}

func (c *Controller) deleteAny(ctx context.Context, p *pass, work *workv1.ManifestWork) error {
	p.wrote.Store(true)
	deleted, err := c.writer.DeleteAny(ctx, work)
	if deleted || err != nil {
		c.Metrics.WorkWrite(metrics.Delete, writeResult(err))
	}
	return err
}
