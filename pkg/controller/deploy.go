package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/workwriter"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/rejection"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

// deploy either persists the decision or executes it.
func (c *Controller) deploy(ctx context.Context, p *pass) (bool, error) {
	p.unrestored = p.Snapshot.Aborted && p.Plan.Behind > 0 // If the pass acts, act sets it again.
	c.nameLostPlaces(p)
	for _, settled := range p.Plan.Settled {
		p.memory.Works.WorkOf(settled.Object.UID).Settled(p.now)
	}
	p.lookAgain(p.Plan.Recheck)
	c.nameAcceptedChanges(ctx, p)
	if c.lacksLedger(p) {
		return false, c.persistPlan(ctx, p)
	}
	if p.TemplateHeld {
		return false, c.report(ctx, p)
	}
	if len(p.Plan.Writes)+len(p.Plan.Deletes) > 0 {
		if shown, err := c.verify(ctx, p); !shown {
			return false, err
		}
	}
	return true, c.act(ctx, p)
}

// persistPlan persists the ledger after the plan: a pass either persists a decision or executes one, never both.
func (c *Controller) persistPlan(ctx context.Context, p *pass) error {
	c.namePersistentErrors(p, untried(attemptsOf(p, p.Plan.Writes, p.Plan.Deletes)))
	p.standing = standing(p)
	return c.persist(ctx, p, func() error { return c.report(ctx, p) })
}

// report writes the status of a pass that has decided.
func (c *Controller) report(ctx context.Context, p *pass) error {
	if p.TemplateHeld {
		slices.Sort(p.problems)
		return c.reportInvalid(ctx, p, status.InvalidSpec(strings.Join(p.problems, "; ")))
	}
	return c.patchStatus(ctx, p, stageOf(p))
}

// nameAcceptedChanges reports the field whose stored value differs from the written value.
func (c *Controller) nameAcceptedChanges(ctx context.Context, p *pass) {
	if len(p.Plan.Accepted) == 0 || p.Plan.Desired.Template == nil {
		return // There is nothing to compare with if the revision is gone.
	}
	first, wanted := p.Plan.Accepted[0], p.Plan.Desired.Template
	if first.InHandover() {
		wanted = first.Combined.Template
	}
	field := p.memory.Works.WorkOf(first.Object.UID).Difference(func() string {
		stored, err := c.writer.Spec(ctx, &p.history, first.Object, first.Digest)
		if err != nil {
			return ""
		}
		return revision.FirstDifference(wanted, stored)
	})
	p.problem(fmt.Sprintf("the API server stored %d ManifestWorks with changes, including ManifestWork %s/%s, in the field %s: "+
		"update the ManifestWork CRD, or look for a webhook that changes the field",
		len(p.Plan.Accepted), first.Cluster(), first.Object.Name, field))
}

// act executes the plan's writes and deletes. Nothing else writes ManifestWorks, except the deletion of the owner. An
// abort that a pause suspends stays in progress.
func (c *Controller) act(ctx context.Context, p *pass) error {
	p.unrestored = p.Snapshot.Aborted && (p.Plan.Deferred > 0 || p.Plan.Held != nil && p.Plan.Behind > 0)
	// Writes and deletes share one budget: after long writes, deletes wait for the next pass (P8).
	results := c.tryAll(ctx, p, attemptsOf(p, p.Plan.Writes, p.Plan.Deletes), func(i int) error {
		if i < len(p.Plan.Writes) {
			return c.write(ctx, p, &p.Plan.Writes[i])
		}
		return c.deleteUnselected(ctx, p, &p.Plan.Deletes[i-len(p.Plan.Writes)])
	})
	c.askAgain(p)
	if ctx.Err() != nil {
		p.unrestored = true
		return ctx.Err()
	}
	nameAway(p, results)
	return c.sortResults(p, results)
}

// tryAll executes requests about works in order, until the pass's time has elapsed, and returns their results.
func (c *Controller) tryAll(ctx context.Context, p *pass, attempts []memory.Attempt, request func(i int) error) []memory.Attempted {
	results, left := untried(attempts), c.budget(p)
	c.parallel(ctx, len(attempts), func(i int) {
		switch {
		case c.away():
			results[i].Err = errAway
		case !attempts[i].Last && p.memory.RefusedLately(attempts[i], p.now):
			results[i].Err = memory.ErrRefusedLately
		default:
			results[i].Err = c.inTurn(p.turn, left, func() error { return request(i) })
			if rejection.IsMissingPermission(results[i].Err) {
				results[i].Err = fmt.Errorf("%w: %w", memory.ErrNotPermitted, results[i].Err)
			}
		}
	})
	return results
}

// askAgain schedules the pass that restores the metadata that a webhook or a policy removed.
func (c *Controller) askAgain(p *pass) {
	for i := range p.Plan.Writes {
		if w := &p.Plan.Writes[i]; w.Action == rollout.Relabel && p.memory.Works.WorkOf(w.Work.Object.UID).StrippedLately(p.now) {
			p.lookAgain(memory.PrunedInterval)
			return
		}
	}
}

func (c *Controller) write(ctx context.Context, p *pass, w *rollout.Write) error {
	if w.Action == rollout.Relabel && p.memory.Works.WorkOf(w.Work.Object.UID).StrippedLately(p.now) {
		return nil // A webhook or a policy removes the written metadata. Without a limit, each pass would write it again (P7).
	}
	klog.FromContext(ctx).V(2).Info("Writing a ManifestWork", "action", w.Action, "cluster", w.Cluster, "why", w.Why)
	answer, err := c.writer.Write(ctx, c.ownerOf(p), w)
	c.Metrics.WorkWrite(verbOf(w.Action), writeResult(err))
	if err != nil {
		return err
	}
	c.wroteWork(p, answer)
	if w.Revision != nil {
		p.memory.Works.WorkOf(answer.GetUID()).Wrote(answer, w.Revision)
		if p.Snapshot.Aborted {
			p.memory.WroteBack(p.abortOf(w.Revision), w.Cluster)
		}
	}
	if mark := workpatch.MissingMark(w, answer); mark != "" {
		return apierrors.NewBadRequest("a webhook or a policy removes " + mark)
	}
	if w.Action == rollout.Relabel {
		p.memory.Works.WorkOf(answer.GetUID()).Stripped(workpatch.IsStripped(w, answer), p.now)
	}
	return nil
}

// ownerOf returns the data that a write needs about the pass's object.
func (c *Controller) ownerOf(p *pass) *workwriter.Owner {
	return &workwriter.Owner{
		Object:     p.object.ManifestWorkReplicaSet,
		Label:      p.facts.Owner,
		Works:      p.works,
		History:    &p.history,
		IsRevision: p.isRevision,
		Found:      func(work metav1.Object) { c.wroteWork(p, work) },
		NameTaken:  func(cluster, name string) { c.announceNameTaken(p, cluster, name) },
	}
}

// isRevision reports whether one of the owner's revisions has a hash.
func (p *pass) isRevision(hash string) bool {
	return hash == p.Update.Hash || hash == p.Ledger.Current.Hash || p.history.ByHash(hash) != nil
}

func (c *Controller) deleteUnselected(ctx context.Context, p *pass, d *rollout.Delete) error {
	work := d.Work.Object
	klog.FromContext(ctx).V(2).Info("Deleting a ManifestWork", "cluster", work.Namespace, "name", work.Name, "why", d.Why)
	return c.deleteSeen(ctx, p, work)
}

// deleteSeen deletes a work only if its version is still the one that this pass saw.
func (c *Controller) deleteSeen(ctx context.Context, p *pass, work *workv1.ManifestWork) error {
	deleted, err := c.writer.Delete(ctx, work)
	if deleted || err != nil {
		c.Metrics.WorkWrite(metrics.Delete, writeResult(err))
	}
	if deleted {
		c.deleted(p, c.stores.Works, work)
	}
	return err
}

func verbOf(action rollout.Action) metrics.Verb {
	if action == rollout.Create {
		return metrics.Create
	}
	return metrics.Patch
}

// awayInterval is the interval at which a pass checks whether the broker is connected again.
const awayInterval = 5 * time.Second

// errAway is the error of a write that was not tried because the broker is not connected.
var errAway = fmt.Errorf("the broker is not connected: %w", memory.ErrLater)

// away reports whether works travel over a broker that is not connected. In that case no write is tried, because each
// would be encoded and logged, and then fail.
func (c *Controller) away() bool { return c.Broker != nil && !c.Broker.Reachable() }

// nameAway reports the number of writes that wait for the broker.
func nameAway(p *pass, results []memory.Attempted) {
	waiting := 0
	for _, result := range results {
		if errors.Is(result.Err, errAway) {
			waiting++
		}
	}
	if waiting > 0 {
		p.problem(fmt.Sprintf("the broker is not connected; %s will be written when it is back; check the broker and --work-driver-config",
			countOf(waiting)))
	}
}

// attemptsOf returns the attempts of writes and deletes, in this order.
func attemptsOf(p *pass, writes []rollout.Write, deletes []rollout.Delete) []memory.Attempt {
	attempts := make([]memory.Attempt, 0, len(writes)+len(deletes))
	for i := range writes {
		attempts = append(attempts, p.attemptOf(&writes[i]))
	}
	for i := range deletes {
		attempts = append(attempts, deletionOf(deletes[i].Work.Object))
	}
	return attempts
}

// untried returns the results of attempts that were not made. The hub remembers which of them the API server rejects.
func untried(attempts []memory.Attempt) []memory.Attempted {
	results := make([]memory.Attempted, 0, len(attempts))
	for _, attempt := range attempts {
		results = append(results, memory.Attempted{Attempt: attempt, Err: memory.ErrLater})
	}
	return results
}
