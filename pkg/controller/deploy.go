package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// deployReconciler decides, persists what was decided where it must be (R12, R13), and acts.
type deployReconciler struct{ *Controller }

func (r *deployReconciler) reconcile(ctx context.Context, p *pass) (bool, error) {
	p.plan = rollout.Decide(p.snapshot)
	r.memory.works.settled(p.plan.Settled, p.now)
	p.lookAgain(p.plan.Recheck)
	r.nameAccepted(ctx, p)
	if p.plan.Abort != nil {
		p.urgent = true
		return false, r.abort(ctx, p)
	}
	if p.plan.Complete {
		r.memory.owners.judges(p.key, "")
	} else if p.revisions.CurrentRevision != p.update.Hash {
		r.memory.owners.judges(p.key, p.update.Hash)
	}
	if p.plan.Complete && p.noHistory != "" {
		p.revisions.CurrentRevision = p.update.Hash
		r.memory.owners.keepRevisions(p.key, p.revisions)
	} else if p.plan.Complete {
		if goOn, err := r.complete(ctx, p); !goOn {
			return false, err
		}
	}
	if p.held {
		slices.Sort(p.problems)
		return false, r.reportInvalid(ctx, p, status.InvalidSpec(strings.Join(p.problems, "; ")))
	}
	return true, r.act(ctx, p)
}

// complete makes the update revision the current one: first the revision tells it, then the status (R13, R16).
func (r *deployReconciler) complete(ctx context.Context, p *pass) (bool, error) {
	latest := p.history.LatestCurrent()
	if latest == nil || latest.Hash != p.update.Hash || p.update.Underway() {
		err := r.tellCurrent(ctx, p)
		if err == nil || apierrors.IsConflict(err) {
			return false, err
		}
		p.problem(r.refused(p, err))
		if r.memory.owners.prunedLately(p.key, p.now) {
			return true, nil
		}
		r.memory.owners.completes(p.key, p.update.Hash)
		// Every cluster had it: a relapse must not become an abort for want of the second copy, which nothing follows from yet. The
		// condition names it, and each pass tries to write it.
	}
	p.revisions.CurrentRevision = p.update.Hash
	return true, nil
}

// failuresChecked bounds how many failed clusters are asked for before an abort: a cache that lags behind lags for all of them.
const failuresChecked = 20

// staleInterval is how soon a pass that met a cache behind the API server looks again.
const staleInterval = time.Second

// stale says whether the cache shows another version of a failed cluster's work than the API server has. A watch can be dead
// without anybody noticing for minutes, and then a success that nobody saw would be a false abort (R11).
func (r *deployReconciler) stale(ctx context.Context, p *pass) (bool, error) {
	failed := map[string]bool{}
	for i := range p.plan.Failing {
		if f := &p.plan.Failing[i]; f.Phase == rollout.PhaseFailed && len(failed) < failuresChecked {
			failed[f.Cluster] = true
		}
	}
	var asked []*workv1.ManifestWork
	for _, cached := range p.works {
		if failed[cached.Namespace] {
			asked = append(asked, cached)
		}
	}
	stale, errs := make([]bool, len(asked)), make([]error, len(asked))
	r.parallel(ctx, len(asked), func(i int) {
		errs[i] = r.inTurn(turn{lane: aborts, key: p.key}, always, func() (err error) {
			stale[i], err = r.isStale(ctx, asked[i])
			return err
		})
	})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return slices.Contains(stale, true), utilerrors.NewAggregate(errs)
}

func always() bool { return true }

func (r *deployReconciler) isStale(ctx context.Context, cached *workv1.ManifestWork) (bool, error) {
	live, err := r.works.WorkV1().ManifestWorks(cached.Namespace).Get(ctx, cached.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("asking for ManifestWork %s/%s before an abort: %w", cached.Namespace, cached.Name, err)
	}
	if r.shows(cached, live) {
		return false, nil
	}
	// An agent that writes all the time is always ahead of the cache. A cache that follows is not behind: the failure that it shows is one.
	return !r.memory.works.follows(cached, live.ResourceVersion, r.clock.Now()), nil
}

// shows says whether the cache holds what decides of a work that was read live.
func (c *Controller) shows(cached, live *workv1.ManifestWork) bool {
	if live.ResourceVersion == cached.ResourceVersion {
		return true
	}
	if !isSlim(cached) {
		return false
	}
	slim(live, c.memory.works.digests.of(&live.Spec))
	return saysTheSame(cached, live)
}

// abort persists the abort. The works go back when the caches show it, and the revision tells of it (R12, R15, R16).
func (r *deployReconciler) abort(ctx context.Context, p *pass) error {
	if stale, err := r.stale(ctx, p); err != nil || stale {
		p.lookAgain(staleInterval)
		return err
	}
	p.aborting = true
	p.revisions.AbortedTime = ptr.To(p.transitionTime().Rfc3339Copy())
	reason := p.plan.Abort.Reason
	r.memory.owners.abortedFor(p.key, p.revisions.AbortedTime, reason)
	if update := p.history.ByHash(p.update.Hash); update != nil && r.memory.owners.prunedLately(p.key, p.now) {
		// The status can't hold it: the revision does (R16).
		switch err := r.tellAborted(ctx, p, update); {
		case apierrors.IsConflict(err):
			return err
		case err != nil:
			p.problem(r.refused(p, err) + "; until then nothing is written back")
		}
	}
	// What is confirmed from now on is the revision that the clusters go back to.
	p.snapshot = r.view(p, p.update, true)
	p.plan = rollout.Decide(p.snapshot)
	if err := r.patchStatus(ctx, p, status.Aborting, reason); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Aborting the rollout", "revision", p.update.Name, "backTo", p.snapshot.Current.Name, "reason", reason)
	return nil
}

// tellCurrent writes on a revision that it is the current one from now on, before the status says so (R16). The pass
// ends with it.
func (r *deployReconciler) tellCurrent(ctx context.Context, p *pass) error {
	return r.patchRevision(ctx, p, p.history.ByHash(p.update.Hash),
		map[string]any{
			workv1alpha1.AnnotationCurrentSince: p.history.NextCurrentSince(p.now).UTC().Format(timeFormat),
			workv1alpha1.AnnotationRecordedOn:   nil, // All have it now.
		})
}

// nameAccepted says which field the API server keeps otherwise than it was written (R10).
func (r *deployReconciler) nameAccepted(ctx context.Context, p *pass) {
	if len(p.plan.Accepted) == 0 || p.plan.Desired.Template == nil {
		return // A revision that is gone has nothing to compare with.
	}
	first := p.plan.Accepted[0]
	field := r.memory.works.difference(first.Object.UID, func() string {
		stored, err := r.spec(ctx, p, first.Object, first.Digest)
		if err != nil {
			return ""
		}
		return revision.FirstDifference(p.plan.Desired.Template, stored)
	})
	p.problem(fmt.Sprintf("the API server stored %d ManifestWorks with changes, ManifestWork %s/%s among them, in the field %s: "+
		"update the ManifestWork CRD, or look for a webhook that changes the field", len(p.plan.Accepted), first.Cluster(), first.Object.Name, field))
}
