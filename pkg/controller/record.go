package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// record persists the failures and halts that this pass found, before the hub acts on them. It reports whether the pass continues:
// an abort is persisted together with its failures.
func (r *deployReconciler) record(ctx context.Context, p *pass) (goOn bool, err error) {
	if p.Snapshot.Aborted {
		return true, nil
	}
	if failed := r.newFailures(p); len(failed) > 0 {
		stale, err := r.examine(ctx, p, failed)
		if err != nil || stale {
			p.lookAgain(memory.StaleInterval)
			return false, err
		}
	}
	if p.plan.Abort != nil {
		return true, nil
	}
	unable := r.memory.Owners.PrunedLately(p.key, p.now) || r.memory.Owners.DroppedLately(p.key, memory.FailureList, p.now)
	stored, found := status.RecordsOf(&p.object.Status), p.plan.Records
	if p.TemplateHeld {
		found.Halted = nil // The status that reports the problem of the template holds the clusters only.
	}
	if !found.Adds(&stored) || unable {
		r.recorded(p)
		return true, nil
	}
	if p.TemplateHeld {
		return true, nil
	}
	p.urgent = true
	p.standing = standing(p)
	r.nameUntried(p, p.plan.Writes, p.plan.Deletes)
	if err := r.patchStatus(ctx, p, stageOf(p), abortReason(p)); err != nil {
		return false, err
	}
	r.recorded(p)
	return false, nil
}

// recorded remembers the facts that this process recorded: an entry that a user later removes from the status is a retry.
func (r *deployReconciler) recorded(p *pass) {
	facts := p.plan.Records
	facts.Failures = maps.Clone(facts.Failures)
	r.memory.Owners.Recorded(p.key, lifecycle.Recorded{Revision: p.Update.Hash, Records: facts})
}

// newFailures returns the works of clusters that have failed and are not recorded yet, at most MaxFailures. It leaves out
// the works of clusters whose write the API server rejects: nothing was applied there.
func (r *deployReconciler) newFailures(p *pass) []*workv1.ManifestWork {
	recorded := func(cluster string) bool { _, known := p.Snapshot.Records.Failures[cluster]; return known }
	var found []*workv1.ManifestWork
	for _, cached := range p.works {
		failure, failed := p.plan.Records.Failures[cached.Namespace]
		if failed && failure.Message == "" && !recorded(cached.Namespace) {
			found = append(found, cached)
		}
	}
	return found
}

// examine reads the works of failed clusters live, and notes the reports of their agents. It reports whether the cache shows an older
// version of one of them. A watch can be dead for minutes without being noticed; a success missed in that time would then count as a
// failure. Only before an abort they are read with its priority.
func (r *deployReconciler) examine(ctx context.Context, p *pass, failed []*workv1.ManifestWork) (stale bool, err error) {
	turn := p.turn
	if p.plan.Abort != nil {
		turn.Lane = queue.Aborts
	}
	lives, behind, errs := make([]*workv1.ManifestWork, len(failed)), make([]bool, len(failed)), make([]error, len(failed))
	r.parallel(ctx, len(failed), func(i int) {
		errs[i] = r.inTurn(turn, always, func() (err error) {
			lives[i], behind[i], err = r.live(ctx, failed[i])
			return err
		})
	})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	for _, live := range lives {
		if live != nil {
			record := p.plan.Records.Failures[live.Namespace]
			record.Message = status.AgentMessage(live)
			p.plan.Records.Failures[live.Namespace] = record
		}
	}
	return slices.Contains(behind, true), utilerrors.NewAggregate(errs)
}

func always() bool { return true }

// live reads a work, and reports whether the cache is behind it.
func (r *deployReconciler) live(ctx context.Context, cached *workv1.ManifestWork) (live *workv1.ManifestWork, stale bool, err error) {
	live, err = r.writer.Get(ctx, cached.Namespace, cached.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading ManifestWork %s/%s before its failure is recorded: %w", cached.Namespace, cached.Name, err)
	}
	version, words := live.ResourceVersion, live.DeepCopy()
	if r.memory.Works.Shows(cached, live) {
		return words, false, nil
	}
	// An agent that writes continuously is always ahead of the cache. A cache that keeps following the API server is not stale, and the
	// failure that it shows is real.
	return words, !r.memory.Works.Follows(cached, version, r.clock.Now()), nil
}
