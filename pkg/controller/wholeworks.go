package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

// awayInterval is how often a pass looks whether the broker is back.
const awayInterval = 5 * time.Second

// errAway says that a write was not tried, because the broker is not connected.
var errAway = fmt.Errorf("the broker is not connected: %w", memory.ErrLater)

// away reports whether works travel over a broker that is not connected. Then no write is tried: each would fail, and be encoded and logged
// for nothing.
func (c *Controller) away() bool { return c.agents != nil && !c.agents.Reachable() }

// tellAway says how many writes wait for the broker.
func (r *deployReconciler) tellAway(p *pass, results ...[]error) {
	waiting := 0
	for _, errs := range results {
		for _, err := range errs {
			if errors.Is(err, errAway) {
				waiting++
			}
		}
	}
	if waiting > 0 {
		p.problem(fmt.Sprintf("the broker is not connected; %s will be written when it is back; check the broker and --work-driver-config", countOf(waiting)))
	}
}

// rewrite brings a work to a revision as a whole. Where works are not stored as JSON, a patch says nothing shorter.
func (r *deployReconciler) rewrite(ctx context.Context, p *pass, w *rollout.Write) (metav1.Object, error) {
	answer, err := r.works.WorkV1().ManifestWorks(w.Cluster).Update(ctx, workpatch.Whole(p.snapshot, w, r.clock.Now()), metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		// It was deleted since the cache showed it: the next pass decides again.
		return nil, apierrors.NewConflict(workv1.Resource("manifestworks"), w.Work.Object.Name, fmt.Errorf("it is gone from namespace %s", w.Cluster))
	}
	return answer, err
}
