package controller

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
)

// readWorks reads the works of failed clusters live. It reports whether the cache shows an older version of one of
// them. A watch can be dead for minutes without being noticed, and a success missed in that time would count as a
// failure. The reads have the priority of an abort only before an abort.
func (c *Controller) readWorks(
	ctx context.Context, p *pass, request *lifecycle.Request,
) (found []*workv1.ManifestWork, stale bool, err error) {
	turn, failed := p.turn, request.Works
	if request.Abort {
		turn.Lane = queue.Aborts
	}
	lives, behind, errs := make([]*workv1.ManifestWork, len(failed)), make([]bool, len(failed)), make([]error, len(failed))
	c.parallel(ctx, len(failed), func(i int) {
		errs[i] = c.inTurn(turn, always, func() (err error) {
			lives[i], behind[i], err = c.live(ctx, p, failed[i])
			return err
		})
	})
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	found = slices.DeleteFunc(lives, func(live *workv1.ManifestWork) bool { return live == nil })
	return found, slices.Contains(behind, true), utilerrors.NewAggregate(errs)
}

func always() bool { return true }

// live reads a work from the API server, and reports whether the cache is behind it.
func (c *Controller) live(
	ctx context.Context, p *pass, cached *workv1.ManifestWork,
) (live *workv1.ManifestWork, stale bool, err error) {
	live, err = c.writer.Get(ctx, cached.Namespace, cached.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading ManifestWork %s/%s before its failure is recorded: %w", cached.Namespace, cached.Name, err)
	}
	version, words := live.ResourceVersion, live.DeepCopy()
	if p.memory.Works.Shows(cached, live) {
		return words, false, nil
	}
	// An agent that writes continuously is always ahead of the cache. A cache that keeps following the API server is not stale, and the
	// failure that it shows is real.
	return words, !p.memory.Works.WorkOf(cached.UID).Follows(cached, version, c.Clock.Now()), nil
}
