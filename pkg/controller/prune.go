package controller

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// prune prunes revisions over the limit.
func (c *Controller) prune(ctx context.Context, p *pass) (bool, error) {
	live := p.facts.LiveHashes(&p.Ledger).Insert(p.Update.Hash)
	live = live.Union(p.Plan.Hashes()) // The plan may write an older revision to adopted works.
	if waiting := p.history.ByDigest(p.facts.Template); p.TemplatePending && waiting != nil {
		live.Insert(waiting.Hash) // After the pause, this becomes the template's revision again: an undo.
	}
	if newest := p.history.Newest(); newest != nil {
		live.Insert(newest.Hash) // This is the template's revision, even while an older abort finishes first.
	}
	left := c.budget(p)
	var errs []error
	for _, surplus := range c.surplus(p, live) {
		if !left() {
			p.lookAgain(time.Millisecond) // This gives other objects a turn.
			break
		}
		switch deleted, err := c.revisions.Delete(ctx, surplus); {
		case err != nil:
			errs = append(errs, err)
		case deleted:
			c.deleted(p, c.stores.Revisions, surplus)
			c.event(p, surplus, corev1.EventTypeNormal, workv1alpha1.EventRevisionPruned, "Prune",
				fmt.Sprintf("deleted revision %s: %s", surplus.Name, historyLimit(p.object.Spec.RevisionHistoryLimit)))
		}
	}
	return true, utilerrors.NewAggregate(errs)
}

// surplus returns the revisions over the limit. It excludes revisions that agents report over a broker, even if no work in the cache has
// them yet: a work can't be restored without its revision (P6).
func (c *Controller) surplus(p *pass, live sets.Set[string]) []*appsv1.ControllerRevision {
	limit := revision.Limit(p.object.Spec.RevisionHistoryLimit)
	surplus := p.history.Surplus(live, limit)
	if len(surplus) == 0 || c.Broker == nil {
		return surplus
	}
	owners := placement.Owners(p.facts.Refs)
	return p.history.Surplus(live.Insert(c.Broker.Claimed(p.facts.Owner, func(cluster, name string) bool {
		_, selected := owners[cluster]
		return selected && work.IsName(p.object, name)
	})...), limit)
}

// historyLimit returns why old revisions are deleted.
func historyLimit(spec *int32) string {
	limit := ptr.Deref(spec, workv1alpha1.DefaultRevisionHistoryLimit)
	if limit > workv1alpha1.MaxRevisionHistoryLimit {
		return fmt.Sprintf("spec.revisionHistoryLimit is %d, and at most %d old revisions are kept", limit, workv1alpha1.MaxRevisionHistoryLimit)
	}
	return fmt.Sprintf("spec.revisionHistoryLimit is %d", limit)
}
