package controller

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// statusReconciler reports the findings and actions of the pass, in one write.
type statusReconciler struct{ *Controller }

func (r *statusReconciler) reconcile(ctx context.Context, p *pass) (bool, error) {
	p.standing = standing(p)
	if err := r.patchStatus(ctx, p, stageOf(p)); err != nil {
		return false, err
	}
	r.metrics.Observe(p.key, r.observed(p))
	return true, nil
}

// stageOf returns the stage of the rollout after this pass acted.
func stageOf(p *pass) status.Stage {
	switch {
	case p.Snapshot.Aborted && (p.unrestored || p.Snapshot.Current == nil):
		return status.Aborting
	case p.Snapshot.Aborted:
		return status.Aborted
	case p.Ledger.Complete():
		return status.Complete
	case p.shown().Stalled:
		return status.Stalled
	default:
		return status.RollingOut
	}
}

// patchStatus writes the status, once, and only if it changed (P7). Anything that it reports for the first time becomes an event.
func (c *Controller) patchStatus(ctx context.Context, p *pass, stage status.Stage) error {
	slices.Sort(p.problems)
	wanted, err := status.Build(&status.Input{
		Object:          p.object.ManifestWorkReplicaSet,
		Ledger:          &p.Ledger,
		History:         &p.history,
		Stage:           stage,
		Pending:         p.Pending,
		TemplatePending: p.TemplatePending,
		Snapshot:        p.Snapshot,
		Plan:            p.shown(),
		Problems:        p.problems,
		PrunedNote:      c.prunedNote(p),
		HistoryNote:     c.historyNote(p),
		ClustersNote:    c.clustersUnread(p),
		HubNote:         c.hubNote(),
		Now:             p.transitionTime(),
	})
	if err != nil {
		return err
	}
	written, err := c.store(ctx, p, &wanted, true)
	if err == nil && written {
		c.announce(p, stage)
	}
	return err
}

// store writes a status. If the API server has dropped the ledger, its CRD is not this hub's. Fields that only this project's CRD has then
// stay as they are stored. The hub tries again to write them after PrunedInterval, and with each decision.
func (c *Controller) store(
	ctx context.Context, p *pass, wanted *workv1alpha1.ManifestWorkReplicaSetStatus, mayWait bool,
) (written bool, err error) {
	stored := &p.object.Status
	frozen := !p.deciding && c.memory.Owners.Drops(p.key, memory.Status) && c.memory.Owners.Waits(p.key, memory.Status, p.now)
	if frozen {
		status.Freeze(wanted, stored)
		p.lookAgain(memory.PrunedInterval)
	}
	if wait := c.memory.Reports.ReportWait(p.key, stored, wanted, p.now); mayWait && wait > 0 {
		p.lookAgain(wait)
		return false, nil
	}
	written, err = c.patcher(p).PatchStatus(ctx, p.object.ManifestWorkReplicaSet, *wanted, *stored)
	if err != nil || !written {
		return false, err
	}
	c.memory.Reports.Reported(p.key, p.now)
	switch {
	case frozen || wanted.Ledger == "":
	case p.answer.Status.Ledger == wanted.Ledger:
		c.memory.Owners.Held(p.key, memory.Status, p.Ledger.Seq)
		c.confirm(p)
	default:
		c.memory.Owners.Dropped(p.key, memory.Status, p.Ledger.Seq, p.now)
		p.lookAgain(time.Millisecond) // No event of the object leads to the next pass.
	}
	return true, nil
}

// confirm notes that the API server has the ledger although the cache does not show it, because the answer to the write of the ledger is
// the version that the cache has: its event came while another CRD was served.
func (c *Controller) confirm(p *pass) {
	version := p.object.ResourceVersion
	if p.reading.InStatus || p.answer.ResourceVersion != version || c.memory.Owners.Confirmed(p.key, version) {
		return
	}
	c.memory.Owners.Confirm(p.key, version)
	p.lookAgain(time.Millisecond)
}

// historyNote returns why there is no history, with the remedy; empty if there is one. Each process makes an event of it once.
func (c *Controller) historyNote(p *pass) string {
	if !p.facts.NoHistory {
		return ""
	}
	missing := p.facts.HistoryNote
	if c.memory.Reports.Announce(p.key, missing) {
		c.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventHistoryUnavailable, "Report", missing)
	}
	return missing
}

// prunedNote returns the note that the CRD is another one, which drops the ledger, and makes an event of it once. The rollout continues
// with the copy of the ledger (R42).
func (c *Controller) prunedNote(p *pass) string {
	if !c.memory.Owners.Drops(p.key, memory.Status) {
		return ""
	}
	const note = status.LedgerDropped + ": its CRD of ManifestWorkReplicaSet is not the one of this hub; apply the CRD that came with this hub"
	if c.memory.Reports.Announce(p.key, note) {
		c.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventOlderCRD, "Report", note)
	}
	return note
}

// reportInvalid reports a spec that can't be rolled out. The conditions that need a rollout stay unchanged.
func (c *Controller) reportInvalid(ctx context.Context, p *pass, applied metav1.Condition) error {
	wanted := p.object.Status.DeepCopy()
	if p.Ledger.Seq > 0 && p.reading.Later == nil {
		if err := p.Ledger.Project(wanted); err != nil {
			return err
		}
	}
	if p.object.DecodeErr == nil {
		snapshot := &rollout.Snapshot{
			Now: p.now, Update: &work.Revision{}, Owner: p.facts.Owner, Refs: p.facts.Refs, IgnoredRefs: p.facts.IgnoredRefs,
		}
		verified := status.PlacementVerified(&status.Input{
			// Without works it asks only which clusters the Placements select, and whether the strategies can be followed.
			Object: p.object.ManifestWorkReplicaSet, Snapshot: snapshot, Plan: rollout.Decide(snapshot),
		})
		status.Set(&wanted.Conditions, verified, p.object.Generation, p.transitionTime())
	}
	status.Hold(wanted, applied, p.Pending, p.object.Generation, p.transitionTime())
	wanted.State = status.HeldState(p.object.ManifestWorkReplicaSet, p.Pending)
	status.SetPaused(&wanted.Conditions, &status.Input{
		Object: p.object.ManifestWorkReplicaSet, TemplatePending: p.TemplatePending, Snapshot: p.known(), Plan: p.Plan, Now: p.transitionTime(),
	})
	c.metrics.Observe(p.key, metrics.Observation{Stage: metrics.Invalid, Paused: p.object.Spec.Paused})
	written, err := c.store(ctx, p, wanted, false)
	if err == nil && written {
		was := c.memory.Reports.Tell(p.key, p.told, func(told *status.Told) { told.Paused = p.object.Spec.Paused })
		c.announcePause(p, was.Paused)
	}
	return err
}

// known returns the snapshot of the rollout. A pass that ended without one knows at most the update revision.
func (p *pass) known() *rollout.Snapshot {
	if p.Snapshot != nil {
		return p.Snapshot
	}
	return &rollout.Snapshot{Update: p.Update}
}

// shown returns the plan that the status reports.
func (p *pass) shown() *rollout.Plan {
	if p.standing != nil {
		return p.standing
	}
	return p.Plan
}

// standing returns the plan to report if the status already reports a stalled rollout and this process began to watch only a moment ago;
// nil otherwise. In that time no deadline fires and no success counts. Without it, each restart of the hub would report a
// rollout that continues and stalls again (P7). No decision depends on it.
func standing(p *pass) *rollout.Plan {
	if !p.reportedStanding() || p.Plan.RollsOut() || !p.Snapshot.BeganLately() {
		return nil
	}
	// This asks what a process that has watched for long would report.
	if watched := rollout.Decide(p.Snapshot.AssumeSettled()); watched.Stalled {
		// These hold only actual facts, not those of the assumed snapshot.
		watched.Records = p.Plan.Records
		if watched.Held != nil && watched.Held.Abort == nil {
			watched.Held = p.Plan.Held
		}
		return watched
	}
	return nil
}

// reportedStanding reports whether the status reports this same rollout as stalled.
func (p *pass) reportedStanding() bool {
	before := &p.object.Status
	return status.ToldStalled(before) && before.ObservedGeneration == p.object.Generation &&
		before.UpdateRevision == p.Ledger.Update.Hash && p.Ledger.Abort == nil && !p.Ledger.Complete()
}
