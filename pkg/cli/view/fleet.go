package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// Fleet is the view of a ManifestWorkReplicaSet on one screen.
type Fleet struct {
	Namespace string             `json:"namespace"`
	Name      string             `json:"name"`
	State     workv1alpha1.State `json:"state"`
	// Since is the time when the state began. It is zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// Alarms are the reasons why the hub does not act. If there are any, the rest of the view shows an earlier state.
	Alarms []Alarm `json:"alarms,omitempty"`
	// Summary describes the progress of the clusters in one line.
	Summary string `json:"summary,omitempty"`
	// Why is the message of the condition that explains the state.
	Why string `json:"why,omitempty"`
	// Reached describes how far an aborted revision got; nil if the rollout was not aborted.
	Reached *Reached `json:"reached,omitempty"`
	// Headline describes the state in one sentence. Then holds the next actions of the hub and their times, if no cluster
	// reports anything new.
	Headline Headline `json:"headline"`
	Then     []Fact   `json:"then,omitempty"`
	// Estimate is the expected end of the rollout; nil if it can't be estimated.
	Estimate *Estimate `json:"estimate,omitempty"`
	// Causes are the reasons why clusters do not succeed, in the words of the agents and the API server, the most urgent first.
	Causes    []Cause    `json:"causes,omitempty"`
	Revisions []Revision `json:"revisions,omitempty"`
	// Approvals are the decision groups that users approved or that wait for an approval.
	Approvals []Approval `json:"approvals,omitempty"`
	Bars      []Bar      `json:"bars,omitempty"`
	// Attention lists the clusters that need attention, the most urgent first. Rest counts the other clusters, the most urgent first.
	Attention []Alike `json:"attention,omitempty"`
	Rest      []Count `json:"rest,omitempty"`
	// Next lists the commands to run next.
	Next []Command `json:"next,omitempty"`
	// Runbook is the section of the runbook that applies; empty if nothing is wrong.
	Runbook Runbook `json:"runbook,omitempty"`
	// Notes describe the information that is missing from the view.
	Notes []string `json:"notes,omitempty"`
}

// Cause is a reason why clusters do not succeed, with the affected clusters.
type Cause struct {
	// State is the state of the clusters, and Reason is the reason for a recorded failure, or the state.
	State    State                      `json:"state"`
	Reason   workv1alpha1.FailureReason `json:"reason,omitempty"`
	Message  string                     `json:"message"`
	Clusters []string                   `json:"clusters"`
	// Since is the time when the first of the clusters entered this state. ChangesAt is the time when the first of them enters
	// the state Then.
	Since     time.Time `json:"since,omitzero"`
	ChangesAt time.Time `json:"changesAt,omitzero"`
	Then      State     `json:"then,omitempty"`
}

// Text describes the cause: the state, the reason if it adds information, and the message.
func (c *Cause) Text() string {
	text := string(c.State)
	if c.Reason != "" && string(c.Reason) != text {
		text += " (" + string(c.Reason) + ")"
	}
	return text + ": " + c.Told()
}

// Told returns the message without the state.
func (c *Cause) Told() string { return strings.TrimPrefix(c.Message, string(c.State)+"=True: ") }

// Reached describes how far an aborted revision got.
type Reached struct {
	Revision int64 `json:"revision"`
	// Clusters is the largest number of clusters that had the revision at the same time. Total is the number of clusters that counted for its
	// rollout; zero if unknown. Now is the number of clusters that still have the revision.
	Clusters int32 `json:"clusters"`
	Total    int32 `json:"total,omitempty"`
	Now      int32 `json:"now"`
	// Ran is the time from the start of the rollout to the abort. It is zero if unknown.
	Ran metav1.Duration `json:"ran,omitzero"`
}

// Text describes how far the revision got.
func (r *Reached) Text(age func(time.Duration) string) string {
	text := fmt.Sprintf("%d of %d clusters had revision %d", r.Clusters, r.Total, r.Revision)
	if r.Total == 0 {
		text = fmt.Sprintf("%s had revision %d", countOf(int(r.Clusters)), r.Revision)
	}
	if r.Ran.Duration > 0 {
		text += fmt.Sprintf("; the abort came %s after the rollout began", age(r.Ran.Duration))
	}
	if r.Now > 0 {
		text += fmt.Sprintf("; clusters that still have it: %d", r.Now)
	}
	return text
}

// Command is a command and its purpose.
type Command struct {
	Purpose string `json:"purpose"`
	// Args are the program and its arguments.
	Args []string `json:"args"`
}

// Line returns the command for a POSIX shell.
func (c *Command) Line() string { return plain.Command(c.Args...) }

// plugin returns the command line of a command of the plugin, for a message.
func plugin(args ...string) string {
	return plain.Command(append([]string{"kubectl", "mwrs"}, args...)...)
}

// FleetOf returns the view of a ManifestWorkReplicaSet.
func FleetOf(o *Objects) *Fleet {
	o = Prepared(o)
	rs := o.ReplicaSet
	clusters, _ := o.clusters()
	f := &Fleet{
		Namespace: rs.Namespace, Name: rs.Name, State: StateOf(rs), Since: SinceOf(rs), Alarms: Alarms(o),
		Why:    o.numbered(cmp.Or(released(rs), explanation(rs).Message)),
		Causes: causesOf(o.recorded(), clusters), Revisions: Revisions(o), Notes: append(o.notes(), o.presumption()...), Reached: o.reached(),
		Then: o.then(), Estimate: o.estimate(), Bars: o.bars(), Approvals: ApprovalsOf(rs),
	}
	f.Attention, f.Rest = attention(Clusters(o))
	f.Summary = o.summary(f.Bars)
	f.Next = o.next(f)
	if len(f.Alarms) > 0 {
		f.Estimate, f.Why = nil, phrase(lastKnown, f.Why)
	}
	f.Runbook = runbookOf(rs, f)
	unverified := Unverified(rs)
	if unverified != "" {
		f.Notes = slices.Insert(f.Notes, 0, unverified)
	}
	f.Headline = headline(f, unverified != "")
	return f
}

// reached returns how far an aborted revision got. It is nil if this is unknown because an earlier rollout of the revision reached every
// cluster.
func (o *Objects) reached() *Reached {
	at := o.ReplicaSet.Status.AbortedTime
	if at == nil {
		return nil
	}
	rev := o.revisionAt(o.ReplicaSet.Status.UpdateRevision)
	if rev.Reached == nil || rev.WasCurrent {
		return nil
	}
	found := &Reached{Revision: rev.Number, Clusters: *rev.Reached, Now: rev.Now}
	for i := range o.ReplicaSet.Status.PlacementsSummary { // Clusters that have left since the abort count, too.
		found.Total += o.ReplicaSet.Status.PlacementsSummary[i].Counted
	}
	if found.Total = cmp.Or(found.Total, int32(Selected(o.ReplicaSet))); found.Total < found.Clusters { //nolint:gosec // A count.
		found.Total = 0
	}
	if !rev.Started.IsZero() && at.After(rev.Started) {
		found.Ran.Duration = at.Sub(rev.Started)
	}
	return found
}

// StateOf returns status.state, or Deleting for an object that is being deleted. If an older hub has not set the state, StateOf derives it
// from the spec and the rest of the status.
func StateOf(rs *workv1alpha1.ManifestWorkReplicaSet) workv1alpha1.State {
	progressing := meta.FindStatusCondition(rs.Status.Conditions, workv1alpha1.ConditionProgressing)
	switch {
	case !rs.DeletionTimestamp.IsZero():
		return workv1alpha1.StateDeleting
	case rs.Status.State != "":
		return rs.Status.State
	case rs.Spec.Paused:
		return workv1alpha1.StatePaused
	case rs.Status.AbortedTime != nil:
		return workv1alpha1.StateAborted
	case progressing != nil && progressing.Reason == workv1alpha1.ReasonProgressDeadlineExceeded:
		return workv1alpha1.StateStalled
	case rs.Status.UpdateRevision != "" && rs.Status.UpdateRevision == rs.Status.CurrentRevision:
		return workv1alpha1.StateComplete
	}
	return workv1alpha1.StateRollingOut
}

// Observed reports whether the status reflects the current spec.
func Observed(rs *workv1alpha1.ManifestWorkReplicaSet) bool {
	if rs.Status.ObservedGeneration != 0 {
		return rs.Status.ObservedGeneration >= rs.Generation
	}
	progressing := meta.FindStatusCondition(rs.Status.Conditions, workv1alpha1.ConditionProgressing)
	return progressing != nil && progressing.ObservedGeneration >= rs.Generation
}

// SinceOf returns the time when the state began. It is zero if unknown.
func SinceOf(rs *workv1alpha1.ManifestWorkReplicaSet) time.Time {
	stalled := meta.FindStatusCondition(rs.Status.Conditions, workv1alpha1.ConditionStalled)
	switch state := StateOf(rs); {
	case state == workv1alpha1.StateDeleting && rs.DeletionTimestamp != nil:
		return rs.DeletionTimestamp.Time
	case rs.Status.AbortedTime != nil && (state == workv1alpha1.StateAborting || state == workv1alpha1.StateAborted):
		return rs.Status.AbortedTime.Time
	case state.IsStalled() && stalled != nil:
		return stalled.LastTransitionTime.Time
	}
	return explanation(rs).LastTransitionTime.Time
}

// released returns why an object still exists although the hub has finished its deletion; empty for any other object.
func released(rs *workv1alpha1.ManifestWorkReplicaSet) string {
	if rs.DeletionTimestamp.IsZero() || len(rs.Finalizers) == 0 || slices.Contains(rs.Finalizers, workv1alpha1.Finalizer) {
		return ""
	}
	return "the hub has finished: the object stays until its other finalizers are removed: " + strings.Join(rs.Finalizers, ", ")
}

// Unverified returns why the clusters of the Placements are unknown, or why there are none; empty if the Placements are verified. It is
// also empty if another text gives this reason, or if the object is being deleted.
func Unverified(rs *workv1alpha1.ManifestWorkReplicaSet) string {
	verified := meta.FindStatusCondition(rs.Status.Conditions, workv1alpha1.ConditionPlacementVerified)
	if verified == nil || verified.Status != metav1.ConditionFalse || !rs.DeletionTimestamp.IsZero() || explanation(rs) == verified {
		return ""
	}
	return verified.Message
}

// explanation returns the condition that explains the state, or an empty condition if that condition is missing.
func explanation(rs *workv1alpha1.ManifestWorkReplicaSet) *metav1.Condition {
	names := []string{workv1alpha1.ConditionProgressing}
	switch StateOf(rs) {
	case workv1alpha1.StateDeleting:
		names = []string{workv1alpha1.ConditionDeleting}
	case workv1alpha1.StatePaused:
		names = []string{workv1alpha1.ConditionPaused, workv1alpha1.ConditionProgressing}
	case workv1alpha1.StateInvalid:
		names = []string{workv1alpha1.ConditionManifestworkApplied}
		if meta.IsStatusConditionFalse(rs.Status.Conditions, workv1alpha1.ConditionPlacementVerified) {
			names = []string{workv1alpha1.ConditionPlacementVerified}
		}
	}
	for _, name := range names {
		if found := meta.FindStatusCondition(rs.Status.Conditions, name); found != nil {
			return found
		}
	}
	return &metav1.Condition{}
}
