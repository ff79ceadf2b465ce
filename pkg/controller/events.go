package controller

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// announce emits events for everything that a status write reports for the first time, and updates the metrics.
func (c *Controller) announce(p *pass, stage status.Stage) {
	is := status.Told{
		Stage: stage, Update: p.Ledger.Update.Hash, Paused: p.object.Spec.Paused, Unreached: status.Unreached(p.facts.Notes.Unreached),
		Awaiting: status.AwaitingApproval(p.shown()),
	}
	if p.Plan.AbortBlocked == rollout.BlockedByAbsence {
		is.Impossible = p.Update.Hash
	}
	was := p.told()
	p.memory.Told = &is
	c.announcePause(p, was.Paused)
	c.announceRestored(p)
	c.announceHeld(p)
	c.announceWouldAbort(p)
	for _, transition := range status.Transitions(&was, &is) {
		switch transition {
		case status.Started:
			c.announceStarted(p)
		case status.Resumed:
			c.event(p, p.updateObject(), corev1.EventTypeNormal, workv1alpha1.EventRolloutResumed, "RollOut", p.progressMessage())
		case status.Stopped:
			c.Metrics.RolloutDegraded()
			c.event(p, p.updateObject(), corev1.EventTypeWarning, workv1alpha1.EventRolloutStalled, "RollOut", p.progressMessage())
		case status.Completed:
			c.Metrics.RolloutEnded(metrics.RolloutComplete, p.now.Sub(p.Ledger.Begun.Last()))
			c.event(p, p.updateObject(), corev1.EventTypeNormal, workv1alpha1.EventRolloutComplete, "RollOut",
				status.CompleteNote(p.Plan, p.Update.Name))
		case status.AbortDecided, status.AbortCarriedOut:
			c.announceAbort(p, transition)
		}
	}
	c.announceApprovals(p, status.Awaits(&was, &is))
	if is.Impossible != "" && is.Impossible != was.Impossible {
		c.event(p, p.updateObject(), corev1.EventTypeWarning, workv1alpha1.EventAbortImpossible, "Abort", status.NoCurrent(p.Snapshot.Absent))
	}
	if is.Unreached != "" && is.Unreached != was.Unreached {
		c.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventAgentUnreached, "RollOut", is.Unreached)
	}
	if exceeded := p.Plan.Exceeded; exceeded != "" && p.memory.Announce(exceeded) {
		c.event(p, p.updateObject(), corev1.EventTypeWarning, workv1alpha1.EventObjectsNotKept, "RollOut",
			"dropped objects are not kept: "+exceeded)
	}
}

// announceApprovals emits an event for each group that waits for an approval, once per revision, because OCM may write
// the same decisions again.
func (c *Controller) announceApprovals(p *pass, groups []string) {
	for _, group := range groups {
		if p.memory.Announce("approval of " + p.Update.Hash + "/" + group) {
			c.event(p, p.updateObject(), corev1.EventTypeNormal, workv1alpha1.EventApprovalNeeded, "Approve",
				fmt.Sprintf("group %q waits for an approval of revision %s", group, p.Update.Name))
		}
	}
}

// announceAbort emits the event of an abort, but not for a held revision: announceHeld announces a hold once, when it
// is decided.
func (c *Controller) announceAbort(p *pass, transition status.Transition) {
	switch {
	case !p.Ledger.Abort.Held.IsZero():
	case transition == status.AbortDecided:
		c.Metrics.RolloutEnded(metrics.RolloutAborted, p.now.Sub(p.Ledger.Begun.Last()))
		c.event(p, p.updateObject(), corev1.EventTypeWarning, workv1alpha1.EventRolloutAborted, "Abort",
			fmt.Sprintf("the rollout of revision %s was aborted, and every cluster returns to revision %s: %s",
				p.Update.Name, p.currentName(), p.Ledger.Abort.Reason))
	default:
		c.event(p, p.updateObject(), corev1.EventTypeNormal, workv1alpha1.EventAbortCarriedOut, "Abort", strings.Join(
			append([]string{fmt.Sprintf("revision %s was written back to every cluster", p.currentName())}, p.problems...), "; but "))
	}
}

// announceHeld emits an event when the template returns to an aborted revision that is held.
func (c *Controller) announceHeld(p *pass) {
	before, now := p.reading.Ledger.Abort, p.Ledger.Abort
	if now != nil && !now.Held.IsZero() && (before == nil || before.Held.IsZero() || p.reading.Ledger.Update != p.Ledger.Update) {
		c.event(p, p.updateObject(), corev1.EventTypeWarning, workv1alpha1.EventRevisionHeld, "Abort",
			fmt.Sprintf("revision %s is not rolled out: %s", p.Update.Name, now.Why()))
	}
}

// announceWouldAbort emits an event, once per rollout, when AbortAll would have aborted the rollout.
func (c *Controller) announceWouldAbort(p *pass) {
	if would := p.Ledger.WouldAbort; would != nil && p.reading.Ledger.WouldAbort == nil {
		c.event(p, p.updateObject(), corev1.EventTypeWarning, workv1alpha1.EventRolloutWouldAbort, "Abort",
			fmt.Sprintf("the rollout of revision %s failed, and nothing is restored: %s", p.Update.Name, would.Text(would.Clusters)))
	}
}

// told returns the last report from this process or, if it has not reported anything, the report in the stored status.
func (p *pass) told() status.Told {
	if p.memory.Told != nil {
		return *p.memory.Told
	}
	return status.ToldBy(&p.object.Status, &p.reading.Ledger)
}

func (c *Controller) announceStarted(p *pass) {
	reason, note := metrics.Created, "the rollout of revision %s begins"
	switch begun := &p.Ledger.Begun; {
	case begun.Retried.After(begun.At):
		reason, note = metrics.Retried, "the rollout of revision %s starts again after a retry"
	case begun.How != ledger.New:
		reason = metrics.Found
	}
	c.Metrics.RolloutStarted(reason)
	c.event(p, p.updateObject(), corev1.EventTypeNormal, workv1alpha1.EventRolloutStarted, "RollOut", fmt.Sprintf(note, p.Update.Name))
}

// announceRestored emits an event, once per abort, when every selected cluster has confirmed the restored revision.
func (c *Controller) announceRestored(p *pass) {
	before, now := p.reading.Ledger.Abort, p.Ledger.Abort
	if before == nil || now == nil || now.Restored.IsZero() || !before.Restored.IsZero() || !now.Held.IsZero() {
		return
	}
	took := max(0, p.now.Sub(now.At)) // A user may have set any time.
	c.Metrics.Restored(took)
	c.event(p, p.updateObject(), corev1.EventTypeNormal, workv1alpha1.EventClustersRestored, "Abort",
		fmt.Sprintf("every cluster confirmed revision %s, %s after the abort was decided", p.currentName(), took.Round(1e9)))
}

// observed returns the findings of this pass for the gauges.
func (c *Controller) observed(p *pass) metrics.Observation {
	shown := p.shown()
	o := metrics.Observation{
		Stage: stageOf(p), WouldAbort: p.Ledger.WouldAbort != nil && p.Ledger.Abort == nil,
		Clusters: shown.Counts, Revisions: len(p.history.Revisions),
		Paused: p.object.Spec.Paused, Lost: len(p.Plan.Lost),
		DeletingSince: deletingSince(p.works), Problems: c.observedProblems(p), Placements: placementsOf(shown, p.Snapshot.Aborted),
		AwaitingApproval: len(status.AwaitingApproval(shown)),
	}
	if o.Stage == status.RollingOut || o.Stage == status.Stalled {
		o.Started = p.Ledger.Begun.Last()
	}
	if p.Snapshot.Aborted {
		o.Clusters = map[rollout.Phase]int{
			metrics.Restored: shown.Confirmed, metrics.Restoring: shown.Restorable() - shown.Confirmed,
		}
	}
	return o
}

// observedProblems returns the problems that an administrator must resolve.
func (c *Controller) observedProblems(p *pass) (found []metrics.Problem) {
	if p.memory.Places.Drops(memory.Status) {
		found = append(found, metrics.OlderCRD)
	}
	if p.facts.NoHistory {
		found = append(found, metrics.HistoryUnavailable)
	}
	return found
}

// placementsOf returns the counts of each ref. After an abort, no cluster counts as updated, because all clusters are
// rolled back.
func placementsOf(shown *rollout.Plan, aborted bool) []metrics.Placement {
	found := make([]metrics.Placement, 0, len(shown.Refs))
	for i := range shown.Refs {
		ref := &shown.Refs[i]
		failing := ref.Phases[rollout.PhaseDegraded] + ref.Phases[rollout.PhaseFailed]
		updated := ref.Updated
		if aborted {
			updated = 0
		}
		found = append(found, metrics.Placement{Name: ref.Name, Selected: ref.Selected, Updated: updated, Failing: failing})
	}
	return found
}

// deletingSince returns the earliest deletion time of the works that are being deleted; zero for none.
func deletingSince(works []*workv1.ManifestWork) (first time.Time) {
	for _, work := range works {
		if at := work.DeletionTimestamp; at != nil && (first.IsZero() || at.Time.Before(first)) {
			first = at.Time
		}
	}
	return first
}

// progressMessage returns the message of Progressing in the status that was just written.
func (p *pass) progressMessage() string {
	if told := meta.FindStatusCondition(p.answer.Status.Conditions, workv1alpha1.ConditionProgressing); told != nil {
		return told.Message
	}
	return ""
}

func (p *pass) currentName() string {
	if p.Snapshot.Current != nil {
		return p.Snapshot.Current.Name
	}
	return revision.Name(p.object.Name, p.Ledger.Current.Hash)
}

// updateObject returns the update revision from the cache; nil if it is gone.
func (p *pass) updateObject() runtime.Object {
	if update := p.history.ByHash(p.Update.Hash); update != nil {
		return update.Object
	}
	return nil
}

// event emits an event for the object and a related object; nil for none. Events of one pass that differ only in their
// notes would be counted as one event; the related object distinguishes them. Each event is also logged, because the
// log is kept for longer than events are.
func (c *Controller) event(p *pass, related runtime.Object, eventType, reason, action, note string) {
	note = status.EventNote(note)
	klog.Background().Info("Event", "manifestWorkReplicaSet", p.key, "type", eventType, "reason", reason, "note", note)
	c.Recorder.Eventf(p.object.ManifestWorkReplicaSet, related, eventType, reason, action, "%s", note)
}

// announceNameTaken emits an event that a work does not have the usual name. It does so once per object, because one
// event per cluster would be too many.
func (c *Controller) announceNameTaken(p *pass, cluster, other string) {
	if p.memory.Announce(workv1alpha1.EventWorkNameTaken) {
		c.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventWorkNameTaken, "RollOut", fmt.Sprintf(
			"ManifestWork %s/%s does not belong to this ManifestWorkReplicaSet, so its own ManifestWork there is %s/%s; "+
				"it uses another name in every namespace in which the usual name is taken",
			cluster, p.object.Name, cluster, other))
	}
}

// announcePause emits the event of a pause that began or ended with a status write.
func (c *Controller) announcePause(p *pass, was bool) {
	switch is := p.object.Spec.Paused; {
	case is && !was:
		note := meta.FindStatusCondition(p.answer.Status.Conditions, workv1alpha1.ConditionPaused).Message
		c.event(p, nil, corev1.EventTypeNormal, workv1alpha1.EventPaused, "Pause", note)
	case was && !is:
		c.event(p, nil, corev1.EventTypeNormal, workv1alpha1.EventResumed, "Resume",
			"spec.paused is no longer true, and the hub continues with the changes that it held back")
	}
}
