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

// reportStatus reports the findings and actions of the pass, in one write.
func (c *Controller) reportStatus(ctx context.Context, p *pass) (bool, error) {
	p.standing = standing(p)
	if err := c.patchStatus(ctx, p, stageOf(p)); err != nil {
		return false, err
	}
	c.Metrics.Observe(p.key, c.observed(p))
	return true, nil
}

// stageOf returns the stage of the rollout after this pass acted.
func stageOf(p *pass) status.Stage {
	switch {
	case p.Snapshot.Aborted && (p.unrestored || p.Snapshot.Current == nil && p.Ledger.Abort.Restored.IsZero()):
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

// patchStatus writes the status, once, and only if it changed (P7). It emits an event for everything that the status
// reports for the first time.
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
		Rejection:       p.rejection,
		PrunedNote:      c.announced(p, workv1alpha1.EventOlderCRD, p.prunedNote()),
		HistoryNote:     c.announced(p, workv1alpha1.EventHistoryUnavailable, p.facts.HistoryNote),
		ClustersNote:    c.announced(p, workv1alpha1.EventClustersUnavailable, p.facts.ClustersNote),
		HubNote:         c.HubNote(),
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

// store writes a status. If the API server has dropped the ledger, the installed CRD is not this hub's. In that case,
// fields that only this project's CRD has keep their stored values. The hub tries to write them again after
// PrunedInterval, and with each decision.
func (c *Controller) store(
	ctx context.Context, p *pass, wanted *workv1alpha1.ManifestWorkReplicaSetStatus, mayWait bool,
) (written bool, err error) {
	stored := &p.object.Status
	frozen := !p.deciding && p.memory.Places.Drops(memory.Status) && p.memory.Places.Waits(memory.Status, p.now)
	if frozen {
		status.Freeze(wanted, stored)
		p.lookAgain(memory.PrunedInterval)
	}
	if wait := p.memory.ReportWait(stored, wanted, p.now); mayWait && wait > 0 {
		p.lookAgain(wait)
		return false, nil
	}
	written, err = c.patcher(p).PatchStatus(ctx, p.object.ManifestWorkReplicaSet, *wanted, *stored)
	if err != nil || !written {
		return false, err
	}
	p.memory.ReportedAt = p.now
	switch {
	case frozen || wanted.Ledger == "":
	case p.answer.Status.Ledger == wanted.Ledger:
		p.memory.Places.Held(memory.Status, p.Ledger.Seq)
		if p.answer.ResourceVersion == p.object.ResourceVersion && p.memory.Confirmed != p.object.ResourceVersion {
			p.lookAgain(time.Millisecond) // The cache received this version while another CRD was installed, and no event follows.
		}
		p.memory.Confirmed = p.answer.ResourceVersion
	default:
		p.memory.Places.Dropped(memory.Status, p.Ledger.Seq, p.now)
		p.lookAgain(time.Millisecond) // No event of the object leads to the next pass.
	}
	return true, nil
}

// announced returns a note for a condition. Each process emits the note as an event once.
func (c *Controller) announced(p *pass, reason, note string) string {
	if note != "" && p.memory.Announce(note) {
		c.event(p, nil, corev1.EventTypeWarning, reason, "Report", note)
	}
	return note
}

// prunedNote returns the note that the installed CRD is not this hub's and drops the ledger; empty if it keeps the
// ledger. The rollout continues with the copy of the ledger (R42).
func (p *pass) prunedNote() string {
	if !p.memory.Places.Drops(memory.Status) {
		return ""
	}
	return status.LedgerDropped + ": its CRD of ManifestWorkReplicaSet is not the one of this hub; apply the CRD that came with this hub"
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
			// Without works, the plan shows only the clusters that the Placements select, and whether the strategies
			// are valid.
			Object: p.object.ManifestWorkReplicaSet, Snapshot: snapshot, Plan: rollout.Decide(snapshot),
		})
		status.Set(&wanted.Conditions, verified, p.object.Generation, p.transitionTime())
	}
	status.Hold(wanted, applied, p.Pending, p.object.Generation, p.transitionTime())
	wanted.State = status.HeldState(p.object.ManifestWorkReplicaSet, p.Pending)
	status.SetPaused(&wanted.Conditions, &status.Input{
		Object: p.object.ManifestWorkReplicaSet, TemplatePending: p.TemplatePending, Snapshot: p.known(), Plan: p.Plan, Now: p.transitionTime(),
	})
	c.Metrics.Observe(p.key, metrics.Observation{Stage: workv1alpha1.StateInvalid, Paused: p.object.Spec.Paused})
	written, err := c.store(ctx, p, wanted, false)
	if err == nil && written {
		told := p.told()
		c.announcePause(p, told.Paused)
		told.Paused = p.object.Spec.Paused
		p.memory.Told = &told
	}
	return err
}

// known returns the snapshot of the rollout. A pass that ended without a snapshot knows at most the update revision.
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

// standing returns the plan to report if the status already reports a stalled rollout and this process has just started
// to watch; nil otherwise. Just after the start, no deadline expires and no success counts. Without this plan, the hub
// would report after each restart that the rollout continues and then stalls again (P7). No decision depends on it.
func standing(p *pass) *rollout.Plan {
	if !p.reportedStanding() || p.Plan.RollsOut() || !p.Snapshot.BeganLately() {
		return nil
	}
	// This is the plan of a process that has watched for a long time.
	if watched := rollout.Decide(p.Snapshot.AssumeSettled()); watched.Stalled {
		// The records hold only actual facts, not those of the assumed snapshot.
		watched.Records = p.Plan.Records
		if watched.Held != nil && watched.Held.Abort == nil {
			watched.Held = p.Plan.Held
		}
		return watched
	}
	return nil
}

// reportedStanding reports whether the status already reports this rollout as stalled.
func (p *pass) reportedStanding() bool {
	before := &p.object.Status
	return status.ToldStalled(before) && before.ObservedGeneration == p.object.Generation &&
		before.UpdateRevision == p.Ledger.Update.Hash && p.Ledger.Abort == nil && !p.Ledger.Complete()
}
