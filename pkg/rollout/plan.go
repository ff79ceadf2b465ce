package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Action is what a Write does to a work.
type Action string

// The actions.
const (
	// Create creates the work of a cluster that has none.
	Create Action = "Create"
	// Update writes a revision into a work: spec, hash and time in one request.
	Update Action = "Update"
	// Adopt adds the hash to a work of an older hub whose spec already matches the revision: metadata only.
	Adopt Action = "Adopt"
	// Relabel updates the labels that do not depend on the revision: metadata only.
	Relabel Action = "Relabel"
)

// Write is one write request of the plan.
type Write struct {
	Action    Action
	Cluster   string
	Placement string
	// Work is the existing work; nil for Create.
	Work *work.Work
	// Revision is the revision that the work gets; nil for Relabel.
	Revision *work.Revision
	// KeptRevision is the hash of the revision whose objects Revision's template keeps beside its own; empty for none.
	KeptRevision string
	// Trim is true if the work already has Revision, with kept objects that are now deleted.
	Trim bool
	// Group is the decision group, as AnnotationDecisionGroup names it; empty if it does not change.
	Group string
	// Why is the reason, for logs and traces.
	Why string
	// Retry is true if the API server rejected the write before, or the cluster has failed: the rollout does not depend on it.
	Retry bool
	// LastTry is true if the cluster fails when the API server rejects this write too: the write is tried without a delay.
	LastTry bool
	// StandIn is true if a cluster without a work gets the current revision until its turn comes.
	StandIn bool
	// Owner is the metadata that the work gets from its owner.
	Owner *work.OwnerMetadata
}

// String returns what is written, and why.
func (w Write) String() string {
	if w.Revision == nil {
		return fmt.Sprintf("%s %s: %s", w.Action, w.Cluster, w.Why)
	}
	kept := ""
	if w.KeptRevision != "" {
		kept = " keeping " + w.KeptRevision
	}
	return fmt.Sprintf("%s %s to %s%s: %s", w.Action, w.Cluster, w.Revision.Hash, kept, w.Why)
}

// Delete is a work to delete.
type Delete struct {
	Work *work.Work
	Why  string
}

// String returns what is deleted, and why.
func (d Delete) String() string {
	return fmt.Sprintf("Delete %s/%s: %s", d.Work.Cluster(), d.Work.Object.Name, d.Why)
}

// Abort is the decision to return to the current revision.
type Abort struct {
	// Reason names the refs that failed, and their clusters.
	Reason string
}

// RefOutcome is the plan's result for one placementRef.
type RefOutcome struct {
	*placement.Ref
	// Err names the field of the ref that can't be used. Nothing new is started then.
	Err error
	// Unknown is true if the clusters that the Placement selects are unknown: the Placement is missing, or its decisions are missing or
	// being written. Meanwhile, no cluster of the object is started, handed over or marked as failed, and the rollout does not complete.
	Unknown bool
	// SelectionKnown is true if the clusters that the Placement selects are known. No rollout completes before that.
	SelectionKnown bool
	// Moving are the clusters that have just left the Placement, and that OCM may be moving to another of its decisions. The selection is
	// known when they have stayed away for MoveWait.
	Moving []string
	// Selected is the number of clusters that the ref owns.
	Selected int
	// invalid is the number of them that are names that no cluster can have.
	invalid int
	// Updated is the number of them that succeeded at the update revision, settled or not. Clusters with kept objects don't count yet.
	Updated int
	// SoakIgnored is the minSuccessTime of a ref with rollout type All, which ignores it.
	SoakIgnored time.Duration
	// Failed is true if too many of its clusters have failed. Halted is true if it starts nothing new.
	Failed, Halted bool
	// Undecided are clusters that it no longer selects and whose deadlines have not passed. The rollout is not complete before those
	// deadlines: the new revision may have disconnected the clusters.
	Undecided []string
	// Terminating are clusters whose works are being deleted and block a cluster that the ref selects, or the turn of a group without other
	// clusters. Deadline is the maximum time for which they block it; zero for no limit.
	Terminating []string
	Deadline    time.Duration

	// Phases is the number of its clusters in each phase.
	Phases map[Phase]int

	// overSelected is true if more selected clusters failed than maxFailures allows for the selected clusters alone.
	overSelected bool
	// gate is the state of the first listed group that holds other clusters back; empty if there is none, or if the placementRef is halted.
	// missing is true if that group has been missing for too long.
	gate    GroupPhase
	missing bool
	// gatesPassedOver is true if that group, or a later one, has clusters that are skipped or on hold. The rollout must not complete then,
	// because they could pass that group.
	gatesPassedOver bool
	// awaited is the number of its clusters that have no outcome yet, including clusters that it no longer selects.
	awaited int
}

// Actions are the actions of a plan.
type Actions struct {
	// Abort is set if the rollout must be aborted. Then Writes and Deletes are empty: the abort is persisted first.
	Abort *Abort
	// Writes are the writes, in the order in which to make them.
	Writes []Write
	// Deletes are the deletions of works that no ref selects, and of surplus works.
	Deletes []Delete
}

// Plan is the result of Decide: its findings, and the actions to take.
type Plan struct {
	// Desired is the revision that the works should have: the update revision, or the current one while aborted. It is nil while aborted if
	// the current one is not available.
	Desired *work.Revision
	Actions
	// WouldAbort is the abort that failureStrategy ReportAbort does not carry out; nil for none.
	WouldAbort *Abort
	// AbortBlocked is why a failed ref with AbortAll or ReportAbort does not lead to an abort.
	AbortBlocked AbortBlock
	// Held contains the actions that a pause holds back; nil if the owner is not paused. If it is set, Abort and Deletes are empty, and
	// Writes has only works that agents have lost.
	Held *Actions
	// Served is a digest, for the ledger, of the clusters that have the current revision during a pause over a broker. If a pass can't
	// compute it, it keeps Snapshot.Served.
	Served string
	// Lost names, sorted, the selected clusters that have no work although their agents report over a broker, while a pause holds back the
	// write. They never had a work, or their agents have lost it and will remove its objects.
	Lost []string
	// Complete is true if the success of every selected cluster at the update revision has settled, except for tolerated failures.
	Complete bool
	// Stalled is true if the rollout does not continue by itself.
	Stalled bool
	// Recheck is the time until something changes by itself; zero for never.
	Recheck time.Duration

	// Refs are the outcomes of the refs, in spec order. IgnoredRefs is the number of ignored refs.
	Refs        []RefOutcome
	IgnoredRefs int
	// Groups are the states of the listed decision groups while the rollout is in progress: by placementRef in spec order, and in the order of
	// its list.
	Groups []GroupState
	// Counts is the number of selected clusters in each phase.
	Counts map[Phase]int
	// Postponed names the clusters whose rejected works wait for a free slot. Their rejections are kept.
	Postponed []string
	// Failing names the failed, unknown, degraded, rejected and completed clusters that count, and those whose deletion timed out, including
	// those without a ref, sorted.
	Failing []Failing
	// Gates are the states of the success gates, in spec order.
	Gates []GateOutcome
	// Bare names the selected clusters that have no work, whose turn has not come, and to which no revision can be written in the meantime,
	// sorted.
	Bare []string
	// Away are the clusters that no placementRef selects because they are, or were a moment ago, unavailable, by cluster.
	Away []AwayCluster
	// OnHold are the selected clusters that a hold or a closed window keeps from the update revision, by cluster.
	OnHold []HeldCluster
	// AwaitedAway names the clusters in Away whose result the rollout waits for or, while aborted, that have not confirmed the desired
	// revision.
	AwaitedAway []string
	// awayCounted is the number of clusters in Away that have the update revision: awayUpdated of them succeeded with it, awaySettled of them
	// for long enough, and awayTolerated of them failed.
	awayCounted, awayUpdated, awaySettled, awayTolerated int
	// awayRestorable is the number of clusters in Away that an abort restores.
	awayRestorable int
	// AgentUnknown names, sorted, the selected clusters whose works were written at least unknownNamedAfter ago and whose agents have not
	// reported to this process.
	AgentUnknown []string
	// Confirmed is the number of selected clusters that have succeeded at the desired revision for long enough to count. While aborted, it
	// includes clusters that are away.
	Confirmed int
	// tolerated is the number of selected clusters with a failure that does not prevent completion.
	tolerated int
	// Behind is the number of writable works that are not at the desired revision. In an abort, a work that was restored and has changed since
	// does not count.
	Behind int
	// Deferred is the number of works that are not written yet because it is unknown which revision their clusters served
	// last.
	Deferred int
	// NotKept lists the dropped objects that are deleted at once despite pruneStrategy WhenAvailable, and why.
	NotKept []string
	// Records are the facts about this rollout that the status must hold.
	Records Records
	// Exceeded is the bound that was exceeded, so that no object is kept; empty for none.
	Exceeded string
	// Settled are works whose success has settled since the last plan. The next snapshot must include this fact.
	Settled []*work.Work
	// Accepted are works that the API server stored with a different spec than the hub requested.
	Accepted []*work.Work

	selection *selection
}

// Unknown reports whether the clusters that any Placement of the object selects are unknown.
func (p *Plan) Unknown() bool { return p.selection.anyUnknown }

// Selects reports whether a placementRef selects a cluster.
func (p *Plan) Selects(cluster string) bool { return p.selection.find(cluster) != nil }

// Failing is a cluster that holds up the rollout.
type Failing struct {
	Cluster string
	Phase   Phase
	// Rejected is the API server's reason for rejecting its work; empty if it accepts the work.
	Rejected string
}

// sum returns the sum of a number over all placementRefs.
func (p *Plan) sum(of func(*RefOutcome) int) (n int) {
	for i := range p.Refs {
		n += of(&p.Refs[i])
	}
	return n
}

// Selected returns how many clusters are selected, each counted once.
func (p *Plan) Selected() int { return p.sum(func(ref *RefOutcome) int { return ref.Selected }) }

// Updated returns how many selected clusters succeeded at the update revision.
func (p *Plan) Updated() int { return p.sum(func(ref *RefOutcome) int { return ref.Updated }) }

// Restorable returns how many clusters an abort can roll back: all selected clusters, except those that are away or have an impossible
// name.
func (p *Plan) Restorable() int {
	return p.awayRestorable + p.sum(func(ref *RefOutcome) int { return ref.Selected - ref.invalid })
}

// RollsOut reports whether the plan writes a revision for the first time, or would do so without a pause. Writes of metadata alone,
// retries of rejected writes, and stand-ins do not advance a rollout.
func (p *Plan) RollsOut() bool {
	return slices.ContainsFunc(p.due().Writes, func(w Write) bool { return w.Action != Relabel && !w.Retry && !w.StandIn })
}

// namesShown limits the clusters that a message names, because the message of a condition may have at most 32 KiB.
const namesShown = 5

// Names returns the number of clusters and the names of the first of them.
func Names(clusters []string) string {
	if len(clusters) == 1 {
		return "1 cluster (" + clusters[0] + ")"
	}
	return fmt.Sprintf("%d clusters (%s)", len(clusters), first(clusters))
}

// first returns the names of the first clusters in a list.
func first(clusters []string) string {
	if len(clusters) <= namesShown {
		return strings.Join(clusters, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(clusters[:namesShown], ", "), len(clusters)-namesShown)
}
