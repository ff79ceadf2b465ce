package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// defaultWriters is how many writes are under way at once, over all objects: as many as it takes until an API server's own pace decides. More
// write no faster, and keep everybody else waiting.
const defaultWriters = 16

// actBudget is for how long one pass writes works before it looks again: what broke meanwhile is not kept waiting by a
// fleet of writes (R12). A pass that took long to decide writes for longer.
const (
	actBudget       = 500 * time.Millisecond
	actBudgetFactor = 20
)

// refusedInterval is how often a write that was refused for a reason that lasts is tried again, at the least: the queue's own
// back-off grows to a quarter of an hour, and whoever mended the reason waits for it.
const refusedInterval = time.Minute

// errLater says that a write was left to the next pass.
var errLater = errors.New("left to the next pass")

// parallel calls do for each index, in order, a bounded number at a time, over all passes. A cancelled context leaves the rest
// undone.
func (c *Controller) parallel(ctx context.Context, n int, do func(int)) {
	if c.writers > 1 {
		workqueue.ParallelizeUntil(ctx, min(n, c.writers), n, func(i int) {
			c.slots <- struct{}{}
			defer func() { <-c.slots }()
			do(i)
		})
		return
	}
	for i := range n {
		if ctx.Err() != nil {
			return
		}
		do(i)
	}
}

// act makes the plan's writes and deletes. Nothing else writes ManifestWorks, but for deletion of the owner.
func (r *deployReconciler) act(ctx context.Context, p *pass) error {
	results := make([]error, len(p.plan.Writes))
	began := r.clock.Now()
	until := began.Add(max(actBudget, actBudgetFactor*began.Sub(p.now)))
	r.parallel(ctx, len(results), func(i int) {
		if r.clock.Now().After(until) {
			results[i] = errLater
			return
		}
		results[i] = r.write(ctx, p, &p.plan.Writes[i])
	})
	deletions := make([]error, len(p.plan.Deletes))
	r.parallel(ctx, len(deletions), func(i int) {
		deletions[i] = r.delete(ctx, p, p.plan.Deletes[i])
	})
	if ctx.Err() != nil {
		p.aborting = true
		return ctx.Err()
	}
	errs := append(r.sortOut(p, results), deletions...)
	r.namePersisting(p, results, deletions)
	return utilerrors.NewAggregate(errs)
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
		r.memory.works.wrote(answer, w.Revision)
	}
	return nil
}

// patch asks for no more than the metadata of what it wrote: reading a large work back costs more than writing it.
func (r *deployReconciler) patch(ctx context.Context, p *pass, w *rollout.Write) (metav1.Object, error) {
	spec, err := r.specPatch(ctx, p, w)
	if err != nil {
		return nil, err
	}
	kind, data, err := workPatch(p.snapshot, w, spec, r.clock.Now())
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

// sortOut tells the writes that will succeed when tried again from those that won't until someone mends something. The
// latter are named for the conditions, and don't hold an abort up (R4).
func (r *deployReconciler) sortOut(p *pass, results []error) []error {
	var errs []error
	var named []string
	for i, err := range results {
		w := &p.plan.Writes[i]
		lasting := err != nil && isLasting(err)
		if w.Revision != nil && !errors.Is(err, errLater) {
			r.memory.owners.refuse(p.key, w.Cluster, lasting)
		}
		switch {
		case err == nil:
			continue
		case lasting:
			p.lookAgain(refusedInterval)
			named = append(named, fmt.Sprintf("cluster %s: %v", w.Cluster, err))
		case w.Revision != nil:
			p.aborting = p.snapshot.Aborted
		}
		switch {
		case errors.Is(err, errLater):
			p.lookAgain(time.Millisecond)
			continue
		case apierrors.IsConflict(err), errors.Is(err, errUnseen):
			p.lookAgain(conflictInterval)
			continue
		}
		errs = append(errs, fmt.Errorf("writing the ManifestWork of cluster %s: %w", w.Cluster, err))
	}
	if len(named) > 0 {
		p.problem(fmt.Sprintf("%d ManifestWorks can't be written, mend what the API server says of them: %s", len(named), firstOf(named)))
	}
	return errs
}

// namePersisting names what writes fail with in one pass after the other though they are tried again: an abort and the next rollout wait for
// them, and a person should know for what. A hiccup is no news, and the words are those of the first time, as long as the reason is the same: a
// condition that changed with each try would be written with each (P7).
func (r *deployReconciler) namePersisting(p *pass, writes, deletions []error) {
	failures := make(map[string]error, len(writes)+len(deletions))
	var order []string
	note := func(what string, err error) {
		if apierrors.IsConflict(err) || errors.Is(err, errUnseen) || isLasting(err) {
			err = nil
		}
		failures[what] = err
		order = append(order, what)
	}
	for i, err := range writes {
		note("cluster "+p.plan.Writes[i].Cluster, err)
	}
	for i, err := range deletions {
		note("deletion in cluster "+p.plan.Deletes[i].Work.Cluster(), err)
	}
	if named := r.memory.owners.persisting(p.key, order, failures, p.now); len(named) > 0 {
		p.problem(fmt.Sprintf("%d ManifestWorks can't be written for some time, each is tried again, look at what the API server says of them: %s",
			len(named), firstOf(named)))
	}
}

// isLasting says whether trying again changes nothing by itself.
func isLasting(err error) bool {
	switch {
	case apierrors.IsConflict(err), errors.Is(err, errUnseen), errors.Is(err, errLater):
		return false
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err):
		return false
	}
	var known apierrors.APIStatus
	return errors.As(err, &known) && known.Status().Code < http.StatusInternalServerError
}

func verbOf(action rollout.Action) metrics.Verb {
	if action == rollout.Create {
		return metrics.Create
	}
	return metrics.Patch
}

func writeResult(err error) metrics.WriteResult {
	switch {
	case err == nil:
		return metrics.Written
	case apierrors.IsConflict(err), errors.Is(err, errUnseen):
		return metrics.Conflict
	case isLasting(err):
		return metrics.Refused
	default:
		return metrics.Failed
	}
}

// errorsShown bounds what a message holds.
const errorsShown = 3

func firstOf(texts []string) string {
	if len(texts) > errorsShown {
		return strings.Join(texts[:errorsShown], "; ") + fmt.Sprintf("; and %d more", len(texts)-errorsShown)
	}
	return strings.Join(texts, "; ")
}
