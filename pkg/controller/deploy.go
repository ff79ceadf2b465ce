package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision/plan"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// deployReconciler decides, persists what was decided where it must be (R12, R13), and acts.
type deployReconciler struct{ *Controller }

func (r *deployReconciler) reconcile(ctx context.Context, p *pass) (bool, error) {
	p.plan = rollout.Decide(p.snapshot)
	r.memory.Works.Settled(p.plan.Settled, p.now)
	p.lookAgain(p.plan.Recheck)
	r.nameAccepted(ctx, p)
	if p.plan.Abort != nil {
		p.urgent = true
		return false, r.abort(ctx, p)
	}
	found := p.outcome()
	if goOn, err := r.follow(ctx, p, func() plan.Step { return plan.Conclude(&p.facts, found, p.plan) }); !goOn {
		return false, err
	}
	if p.held {
		slices.Sort(p.problems)
		return false, r.reportInvalid(ctx, p, status.InvalidSpec(strings.Join(p.problems, "; ")))
	}
	return true, r.act(ctx, p)
}

// failuresChecked bounds how many failed clusters are asked for before an abort: a cache that lags behind lags for all of them.
const failuresChecked = 20

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
		errs[i] = r.inTurn(queue.Turn{Lane: queue.Aborts, Key: p.key}, always, func() (err error) {
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
	if r.memory.Works.Shows(cached, live) {
		return false, nil
	}
	// An agent that writes all the time is always ahead of the cache. A cache that follows is not behind: the failure that it shows is one.
	return !r.memory.Works.Follows(cached, live.ResourceVersion, r.clock.Now()), nil
}

// abort persists the abort. The works go back when the caches show it, and the revision tells of it (R12, R15, R16).
func (r *deployReconciler) abort(ctx context.Context, p *pass) error {
	if stale, err := r.stale(ctx, p); err != nil || stale {
		p.lookAgain(memory.StaleInterval)
		return err
	}
	found, at, reason := p.outcome(), p.transitionTime().Rfc3339Copy(), p.plan.Abort.Reason
	_, err := r.follow(ctx, p, func() plan.Step { return plan.Abort(&p.facts, found, at, reason) })
	return err
}

// nameAccepted says which field the API server keeps otherwise than it was written (R10).
func (r *deployReconciler) nameAccepted(ctx context.Context, p *pass) {
	if len(p.plan.Accepted) == 0 || p.plan.Desired.Template == nil {
		return // A revision that is gone has nothing to compare with.
	}
	first := p.plan.Accepted[0]
	field := r.memory.Works.Difference(first.Object.UID, func() string {
		stored, err := r.spec(ctx, p, first.Object, first.Digest)
		if err != nil {
			return ""
		}
		return revision.FirstDifference(p.plan.Desired.Template, stored)
	})
	p.problem(fmt.Sprintf("the API server stored %d ManifestWorks with changes, ManifestWork %s/%s among them, in the field %s: "+
		"update the ManifestWork CRD, or look for a webhook that changes the field", len(p.plan.Accepted), first.Cluster(), first.Object.Name, field))
}
