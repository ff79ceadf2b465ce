package controller

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// newFailures returns the works of clusters that have failed and are not in the ledger yet, at most MaxFailures. It leaves out
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
			record.Message = status.FailureMessage(live, record.Gate)
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
