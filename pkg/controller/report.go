package controller

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
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
	if err := r.patchStatus(ctx, p, stageOf(p), abortReason(p)); err != nil {
		return false, err
	}
	r.metrics.Observe(p.key, r.observed(p))
	return true, r.markRestored(ctx, p)
}

// stageOf returns the stage of the rollout after this pass acted.
func stageOf(p *pass) status.Stage {
	switch {
	case p.Snapshot.Aborted && (p.aborting() || p.Snapshot.Current == nil):
		return status.Aborting
	case p.Snapshot.Aborted:
		return status.Aborted
	case p.Revisions.CurrentRevision == p.Update.Hash && !p.Update.Underway():
		return status.Complete
	case p.shown().Stalled:
		return status.Stalled
	default:
		return status.RollingOut
	}
}

// abortReason returns why the rollout was aborted, as recorded on the update revision, or as known to this process if the revision can't
// be written.
func abortReason(p *pass) string {
	if !p.Snapshot.Aborted {
		return ""
	}
	remembered := p.facts.Memory.Aborted.ReasonAt(p.facts.Status.AbortedTime)
	if update := p.history.ByHash(p.Update.Hash); update != nil {
		return cmp.Or(update.AbortReason(), remembered)
	}
	return remembered
}

// patchStatus writes the status, once, and only if it changed (P7). Anything that it reports for the first time becomes an event.
func (c *Controller) patchStatus(ctx context.Context, p *pass, stage status.Stage, abortReason string) error {
	slices.Sort(p.problems)
	pruned := c.memory.Owners.PrunedLately(p.key, p.now)
	wanted := status.Build(&status.Input{
		Object:          p.object.ManifestWorkReplicaSet,
		Revisions:       p.Revisions,
		History:         &p.history,
		Stage:           stage,
		Pending:         p.Pending,
		TemplatePending: p.TemplatePending,
		Snapshot:        p.Snapshot,
		Plan:            p.shown(),
		AbortReason:     abortReason,
		Problems:        p.problems,
		PrunedNote:      c.olderCRDNote(p),
		HistoryNote:     c.historyNote(p),
		ClustersNote:    c.clustersUnread(p),
		Now:             p.transitionTime(),
	})
	if pruned {
		wanted.CollisionCount, wanted.CurrentRevision, wanted.UpdateRevision, wanted.AbortedTime = nil, "", "", nil
		p.lookAgain(memory.PrunedInterval)
	}
	asked := c.askToStore(p, &wanted)
	if wait := c.memory.Reports.ReportWait(p.key, &p.object.Status, &wanted, p.now); wait > 0 {
		p.lookAgain(wait)
		return nil
	}
	written, err := c.patcher(p).PatchStatus(ctx, p.object.ManifestWorkReplicaSet, wanted, p.object.Status)
	if written {
		c.memory.Reports.Reported(p.key, p.now)
	}
	if err == nil && written && !pruned {
		c.memory.Owners.Prunes(p.key, p.answer.Status.UpdateRevision != wanted.UpdateRevision, p.answer.Spec.RevisionHistoryLimit != nil, p.now)
	}
	if err == nil && written {
		c.noteStored(p, asked, &wanted)
		c.announce(p, abortReason)
	}
	return err
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

// olderCRDNote returns which fields of the status an older CRD drops, and which fields of the spec one has dropped.
func (c *Controller) olderCRDNote(p *pass) string {
	notes := []string{c.prunedNote(p), lostNote(p.lost)}
	return strings.Join(slices.DeleteFunc(notes, func(note string) bool { return note == "" }), "; ")
}

// prunedNote returns the note that an older CRD drops fields of the status, and makes an event of it once. The rollout
// continues with the records of the revisions.
func (c *Controller) prunedNote(p *pass) string {
	dropped := c.dropped(p)
	if dropped == "" {
		return ""
	}
	note := "the API server drops " + dropped + ": its CRD of ManifestWorkReplicaSet is an older one, apply the one that came with this hub"
	if c.memory.Reports.Announce(p.key, note) {
		c.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventOlderCRD, "Report", note)
	}
	return note
}

// reportInvalid reports a spec that can't be rolled out. The conditions that need a rollout stay unchanged.
func (c *Controller) reportInvalid(ctx context.Context, p *pass, applied metav1.Condition) error {
	wanted := p.object.Status.DeepCopy()
	if !c.memory.Owners.PrunedLast(p.key) {
		wanted.CollisionCount, wanted.CurrentRevision = p.Revisions.CollisionCount, p.Revisions.CurrentRevision
		wanted.UpdateRevision, wanted.AbortedTime = p.Revisions.UpdateRevision, p.Revisions.AbortedTime
		status.KeepAbort(wanted, &p.object.Status)
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
		Object: p.object.ManifestWorkReplicaSet, TemplatePending: p.TemplatePending, Snapshot: p.known(), Plan: p.plan, Now: p.transitionTime(),
	})
	if slices.Contains(c.memory.Owners.DroppedLast(p.key), memory.State) {
		wanted.State = p.object.Status.State // An older CRD drops the state. Nothing else of an invalid object changes (P7).
	}
	if p.TemplateHeld && p.plan != nil {
		status.RecordClusters(wanted, &p.plan.Records)
	}
	asked := c.askToStore(p, wanted)
	c.metrics.Observe(p.key, metrics.Observation{Stage: metrics.Invalid, Paused: p.object.Spec.Paused})
	written, err := c.patcher(p).PatchStatus(ctx, p.object.ManifestWorkReplicaSet, *wanted, p.object.Status)
	if err == nil && written {
		c.noteStored(p, asked, wanted)
		c.announcePause(p)
	}
	if err == nil && written && p.answer.Status.UpdateRevision != wanted.UpdateRevision {
		c.memory.Owners.Prunes(p.key, true, p.answer.Spec.RevisionHistoryLimit != nil, p.now)
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
	return p.plan
}

// standing returns the plan to report if the status already reports a stalled rollout and this process began to watch only a moment ago;
// nil otherwise. In that time no deadline fires and no success counts. Without it, each restart of the hub would report a
// rollout that continues and stalls again (P7). No decision depends on it.
func standing(p *pass) *rollout.Plan {
	if !p.reportedStanding() || p.plan.RollsOut() || !p.Snapshot.BeganLately() {
		return nil
	}
	// This asks what a process that has watched for long would report.
	if watched := rollout.Decide(p.Snapshot.AssumeSettled()); watched.Stalled {
		// These hold only actual facts, not those of the assumed snapshot.
		watched.Records = p.plan.Records
		if watched.Held != nil && watched.Held.Abort == nil {
			watched.Held = p.plan.Held
		}
		return watched
	}
	return nil
}

// reportedStanding reports whether the status reports this same rollout as stalled.
func (p *pass) reportedStanding() bool {
	before := &p.object.Status
	told := meta.FindStatusCondition(before.Conditions, workv1alpha1.ConditionProgressing)
	return told != nil && told.Reason == workv1alpha1.ReasonProgressDeadlineExceeded && told.ObservedGeneration == p.object.Generation &&
		before.UpdateRevision == p.Revisions.UpdateRevision && before.AbortedTime == nil && !p.Snapshot.Aborted
}

type replicaSetStatus = workv1alpha1.ManifestWorkReplicaSetStatus

// laterField is a field of the status that an older CRD of this project lacks. No decision depends on it.
type laterField struct {
	name memory.Field
	// same reports whether the field is equal in two statuses.
	same func(a, b *replicaSetStatus) bool
	// take copies the field from another status.
	take func(to, from *replicaSetStatus)
}

var laterFields = []laterField{
	{
		name: memory.ObservedGeneration,
		same: func(a, b *replicaSetStatus) bool { return a.ObservedGeneration == b.ObservedGeneration },
		take: func(to, from *replicaSetStatus) { to.ObservedGeneration = from.ObservedGeneration },
	},
	{
		name: memory.RevisionList,
		same: func(a, b *replicaSetStatus) bool { return equality.Semantic.DeepEqual(a.Revisions, b.Revisions) },
		take: func(to, from *replicaSetStatus) { to.Revisions = from.Revisions },
	},
	{
		name: memory.FailureList,
		same: status.SameRecords,
		take: status.TakeRecords,
	},
	{
		name: memory.ClusterCounts,
		same: status.SameCounts,
		take: status.TakeCounts,
	},
	{
		name: memory.State,
		same: func(a, b *replicaSetStatus) bool { return a.State == b.State },
		take: func(to, from *replicaSetStatus) { to.State = from.State },
	},
	{
		name: memory.Away,
		same: func(a, b *replicaSetStatus) bool { return equality.Semantic.DeepEqual(a.Away, b.Away) },
		take: func(to, from *replicaSetStatus) { to.Away = from.Away },
	},
}

// askToStore returns the later fields that the API server is asked to store. A field that it was seen dropping would be written in each
// pass (P7). So that field stays as it is stored, and is tried again after a while.
func (c *Controller) askToStore(p *pass, wanted *replicaSetStatus) (asked []laterField) {
	for _, field := range laterFields {
		if c.memory.Owners.PrunedLately(p.key, p.now) || c.memory.Owners.DroppedLately(p.key, field.name, p.now) {
			field.take(wanted, &p.object.Status)
			p.lookAgain(memory.PrunedInterval)
		} else if !field.same(wanted, &p.object.Status) {
			asked = append(asked, field)
		}
	}
	return asked
}

// noteStored notes whether the API server stored the fields that it was asked to store.
func (c *Controller) noteStored(p *pass, asked []laterField, wanted *replicaSetStatus) {
	for _, field := range asked {
		c.memory.Owners.Dropped(p.key, field.name, !field.same(&p.answer.Status, wanted), p.now)
	}
}

// dropped returns the names of the fields that an older CRD was seen dropping; empty for none.
func (c *Controller) dropped(p *pass) string {
	if c.memory.Owners.PrunedLast(p.key) {
		return "status.currentRevision, status.updateRevision and status.abortedTime, and failureStrategy from the spec"
	}
	var names []string
	for _, field := range c.memory.Owners.DroppedLast(p.key) {
		names = append(names, string(field))
	}
	return strings.Join(names, " and ")
}
