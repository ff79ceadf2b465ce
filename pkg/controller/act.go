package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

// defaultWriters is how many writes are under way at once, over all objects: as many as it takes until an API server's own pace decides. More
// write no faster, and keep everybody else waiting.
const defaultWriters = 16

// actBudget is for how long one pass writes works before it looks again: what broke meanwhile is not kept waiting by a
// fleet of writes (R12). A pass that took long to decide writes for longer, up to a limit: what one object may have of a worker is bounded,
// however large it is. An abort has that limit at once: nothing that breaks meanwhile changes what it writes.
const (
	actBudget       = 500 * time.Millisecond
	actBudgetFactor = 20
	actBudgetMost   = 2 * time.Second
)

// parallel calls do for each index, in order, a bounded number at a time. A cancelled context leaves the rest undone.
func (c *Controller) parallel(ctx context.Context, n int, do func(int)) {
	if c.writers > 1 {
		workqueue.ParallelizeUntil(ctx, min(n, c.writers), n, do)
		return
	}
	for i := range n {
		if ctx.Err() != nil {
			return
		}
		do(i)
	}
}

// inTurn makes a request when there is a slot for it, over all passes. It returns memory.ErrLater if the pass has no time left by then; who has none waits
// for no slot.
func (c *Controller) inTurn(t queue.Turn, left func() bool, request func() error) error {
	if !left() {
		return memory.ErrLater
	}
	c.slots.Take(t)
	defer c.slots.Give(t)
	if !left() {
		return memory.ErrLater
	}
	return request()
}

// budget reports whether a pass may still write, from now on.
func (c *Controller) budget(p *pass) (left func() bool) {
	began, budget := c.clock.Now(), actBudgetMost
	if p.turn.Lane != queue.Aborts {
		budget = min(max(actBudget, actBudgetFactor*began.Sub(p.now)), actBudgetMost)
	}
	until := began.Add(budget)
	return func() bool { return !c.clock.Now().After(until) }
}

// act makes the plan's writes and deletes. Nothing else writes ManifestWorks, but for deletion of the owner.
func (r *deployReconciler) act(ctx context.Context, p *pass) error {
	results := r.writeAll(ctx, p)
	r.askAgain(p)
	deletions := r.deleteUnselected(ctx, p)
	if ctx.Err() != nil {
		p.aborting = true
		return ctx.Err()
	}
	r.tellAway(p, results, deletions)
	return r.sortOut(p, results, deletions)
}

func (r *deployReconciler) writeAll(ctx context.Context, p *pass) []error {
	results := make([]error, len(p.plan.Writes))
	left := r.budget(p)
	r.parallel(ctx, len(results), func(i int) {
		switch w := &p.plan.Writes[i]; {
		case r.away():
			results[i] = errAway
		case r.memory.Owners.RefusedLately(p.key, p.attemptOf(w), p.now):
			results[i] = memory.ErrRefusedLately
		case w.Action == rollout.Relabel && r.memory.Works.StrippedLately(w.Work.Object.UID, p.now):
			// A webhook or a policy takes away what is written: it would be written in each pass (P7).
		default:
			results[i] = r.inTurn(p.turn, left, func() error { return r.write(ctx, p, w) })
		}
	})
	return results
}

func (r *deployReconciler) deleteUnselected(ctx context.Context, p *pass) []error {
	results := make([]error, len(p.plan.Deletes))
	left := r.budget(p)
	r.parallel(ctx, len(results), func(i int) {
		switch d := &p.plan.Deletes[i]; {
		case r.away():
			results[i] = errAway
		case r.memory.Owners.RefusedLately(p.key, deletionOf(d), p.now):
			results[i] = memory.ErrRefusedLately
		default:
			results[i] = r.inTurn(p.turn, left, func() error { return r.delete(ctx, p, *d) })
		}
	})
	return results
}

// askAgain asks for the pass that writes again what a webhook or a policy took away.
func (r *deployReconciler) askAgain(p *pass) {
	for i := range p.plan.Writes {
		if w := &p.plan.Writes[i]; w.Action == rollout.Relabel && r.memory.Works.StrippedLately(w.Work.Object.UID, p.now) {
			p.lookAgain(memory.PrunedInterval)
			return
		}
	}
}

func (r *deployReconciler) write(ctx context.Context, p *pass, w *rollout.Write) error {
	klog.FromContext(ctx).V(2).Info("Writing a ManifestWork", "action", w.Action, "cluster", w.Cluster, "why", w.Why)
	var answer metav1.Object
	var err error
	if w.Action == rollout.Create {
		answer, err = r.create(ctx, p, w)
	} else {
		answer, err = r.patch(ctx, p, w)
	}
	r.metrics.WorkWrite(verbOf(w.Action), writeResult(err))
	if err != nil {
		return err
	}
	r.wroteWork(p, answer)
	if w.Revision != nil {
		r.memory.Works.Wrote(answer, w.Revision)
		if p.snapshot.Aborted {
			r.memory.Owners.WroteBack(p.key, p.abortOf(w.Revision), w.Cluster)
		}
	}
	if w.Action == rollout.Relabel {
		r.memory.Works.Stripped(answer.GetUID(), workpatch.IsStripped(p.snapshot, w, answer), p.now)
	}
	return nil
}

// patch asks for no more than the metadata of what it wrote: reading a large work back costs more than writing it.
func (r *deployReconciler) patch(ctx context.Context, p *pass, w *rollout.Write) (metav1.Object, error) {
	if r.wholeWorks && workpatch.ChangesSpec(w) {
		return r.rewrite(ctx, p, w)
	}
	spec, err := r.specChange(ctx, p, w)
	if err != nil {
		return nil, err
	}
	kind, data, err := workpatch.Patch(p.snapshot, w, spec, r.clock.Now())
	if err != nil {
		return nil, err
	}
	name := w.Work.Object.Name
	var answer metav1.Object
	if r.metadata != nil {
		answer, err = r.metadata.Resource(worksResource).Namespace(w.Cluster).Patch(ctx, name, kind, data, metav1.PatchOptions{})
	} else {
		answer, err = r.works.WorkV1().ManifestWorks(w.Cluster).Patch(ctx, name, kind, data, metav1.PatchOptions{})
	}
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		// It was deleted since the cache showed it: what to do about that is decided anew.
		return nil, apierrors.NewConflict(workv1.Resource("manifestworks"), name, fmt.Errorf("it is gone from namespace %s", w.Cluster))
	}
	return answer, err
}

var worksResource = schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}

func (r *deployReconciler) delete(ctx context.Context, p *pass, d rollout.Delete) error {
	work := d.Work.Object
	klog.FromContext(ctx).V(2).Info("Deleting a ManifestWork", "cluster", work.Namespace, "name", work.Name, "why", d.Why)
	err := r.works.WorkV1().ManifestWorks(work.Namespace).Delete(ctx, work.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &work.UID, ResourceVersion: &work.ResourceVersion},
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	r.metrics.WorkWrite(metrics.Delete, writeResult(err))
	if err != nil {
		return fmt.Errorf("deleting ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	r.deleted(p, r.workIndex, work)
	return nil
}

func verbOf(action rollout.Action) metrics.Verb {
	if action == rollout.Create {
		return metrics.Create
	}
	return metrics.Patch
}
