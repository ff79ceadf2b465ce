package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Action is what a Write does to a work.
type Action string

// The actions.
const (
	// Create makes the work of a cluster that has none.
	Create Action = "Create"
	// Update writes a revision into a work: spec, hash and time in one request.
	Update Action = "Update"
	// Adopt gives the hash to a work of an older hub whose spec is the revision's already: metadata only (R6).
	Adopt Action = "Adopt"
	// Relabel brings the labels that are not about the revision up to date: metadata only (R8, R9).
	Relabel Action = "Relabel"
)

// Write is one request that the plan wants made.
type Write struct {
	Action    Action
	Cluster   string
	Placement string
	// Work is the work as it is; nil for Create.
	Work *Work
	// Revision is what the work gets; nil for Relabel.
	Revision *Revision
	// KeptRevision is the hash of the revision whose objects Revision's template has beside its own; empty for none (R28).
	KeptRevision string
	// Trim says that the work has Revision already, with objects beside it that go now (R31).
	Trim bool
	// Group is the decision group, as AnnotationDecisionGroup names it; empty where it stays as it is.
	Group string
	// Why is the reason, for logs and traces.
	Why string
	// Retry reports whether the API server rejected the write before, or the cluster has failed: the rollout does not depend on it (R14).
	Retry bool
	// Owner is what the work gets from its owner.
	Owner *OwnerMetadata
}

// String says what is written, and why.
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

// Delete is a work that goes.
type Delete struct {
	Work *Work
	Why  string
}

// String says what is deleted, and why.
func (d Delete) String() string {
	return fmt.Sprintf("Delete %s/%s: %s", d.Work.Cluster(), d.Work.Object.Name, d.Why)
}

// Abort is the decision to go back to the current revision (R12).
type Abort struct {
	// Reason names the refs that failed, and their clusters.
	Reason string
}

// RefOutcome is what a plan found of one placementRef.
type RefOutcome struct {
	Name string
	// Err says which field of the ref can't be used; nothing new is started then.
	Err error
	// PlacementMissing says that there is no such Placement.
	PlacementMissing bool
	// Matches says that all decisions of the Placement were seen.
	Matches bool
	// Decisions is how many PlacementDecision objects were seen.
	Decisions int
	// Groups is how many decision groups there are.
	Groups int
	// PlacementSelected is the Placement's own count of its clusters.
	PlacementSelected int
	// Selected is how many clusters the ref owns.
	Selected int
	// Updated is how many of them succeeded at the update revision, settled or not. With objects beside it they don't count yet.
	Updated int
	// SoakIgnored is the minSuccessTime of a ref whose rollout type All has no use for one.
	SoakIgnored time.Duration
	// Failed and Halted are the judgement over its clusters (R10, R11).
	Failed, Halted bool
	// Undecided are clusters that it does not select any more, and whose deadlines are still to come. The
	// rollout is not complete before that: the new revision may be what cut them off (R8, R13).
	Undecided []string
	// Terminating are clusters whose works are on their way out and hold something up: the slot of a cluster that the ref selects, or the
	// turn of a group that has no other (R8). Deadline says for how long at most; zero for as long as it takes.
	Terminating []string
	Deadline    time.Duration

	// Phases is how many of its clusters are in each phase.
	Phases map[Phase]int

	// closed says that failed and degraded clusters alone are too many: no rejected write is tried again (R10).
	closed bool
	// startable says that clusters wait whose turn it is; postponed are those of them that leave their slots to retries.
	startable bool
	postponed []string
	// awaited is how many of its clusters have an outcome still to come, also of those that it does not select any more.
	awaited int
}

// Plan is what Decide found and wants done.
type Plan struct {
	// Desired is the revision that the works shall have: the update revision, or the current one while aborted;
	// nil when aborted and the current one can't be had.
	Desired *Revision
	// Abort is set when the rollout is to be aborted. Then Writes and Deletes are empty: the abort is persisted first.
	Abort *Abort
	// AbortBlocked is why a failed ref with AbortAll does not lead to an abort (R12).
	AbortBlocked AbortBlock
	// Writes in the order in which they should be made.
	Writes []Write
	// Deletes of works that no ref selects, and of surplus ones.
	Deletes []Delete
	// Held is what a pause holds back; nil where the owner is not paused. Abort, Writes and Deletes are empty then (R22).
	Held *Held
	// Complete says that every selected cluster has settled success at the update revision (R13).
	Complete bool
	// Stalled says that the rollout does not go on by itself (R14).
	Stalled bool
	// Recheck is after what time something changes by itself; zero for never.
	Recheck time.Duration

	// Refs are the outcomes of the refs, in spec order. IgnoredRefs is how many more the spec has.
	Refs        []RefOutcome
	IgnoredRefs int
	// Phases holds, for each selected cluster, where it is on the way to the update revision.
	Phases map[string]Phase
	// Counts is how many selected clusters are in each phase.
	Counts map[Phase]int
	// Rejected names the clusters whose works the API server refuses, in no order.
	Rejected []string
	// Postponed names the clusters whose turn it is, and that leave their slots to retries of rejected ones in this plan.
	Postponed []string
	// Failing names the failed, unknown, degraded, rejected and completed clusters that count, those without a ref among them, sorted.
	Failing []Failing
	// AgentUnknown names the selected clusters that this process has written to for a while, and whose agents it has not heard, sorted.
	AgentUnknown []string
	// Confirmed is how many selected clusters were seen succeeding at the desired revision for long enough to count (R10).
	Confirmed int
	// tolerated is how many selected clusters have failed without anything left to be written to them.
	tolerated int
	// Behind is how many works, of those that can be written, are not at the desired revision. In an abort, one that was written back and
	// changed by somebody since does not count.
	Behind int
	// Deferred is how many works are not written yet because nobody knows which revision their clusters served last (R27).
	Deferred int
	// NotKept says what of the objects that the desired revision drops is deleted at once under pruneStrategy WhenAvailable, and why.
	NotKept []string
	// Records are the facts about this rollout that the status has to hold (R11).
	Records Records
	// Exceeded is which bound is exceeded, so that none of them is kept; empty for none.
	Exceeded string
	// Settled are works whose success is found settled, and was not before: the next snapshot has to say so (R11).
	Settled []*Work
	// Accepted are works that the API server stored with another spec than was asked for (R10).
	Accepted []*Work
}

// Failing is a cluster that holds the rollout up.
type Failing struct {
	Cluster string
	Phase   Phase
	Since   time.Time
	// Rejected is what the API server says of its work; empty where it accepts the work.
	Rejected string
}

// Selected is how many clusters are selected, each once.
func (p *Plan) Selected() int {
	n := 0
	for i := range p.Refs {
		n += p.Refs[i].Selected
	}
	return n
}

// Updated is how many selected clusters succeeded at the update revision.
func (p *Plan) Updated() int {
	n := 0
	for i := range p.Refs {
		n += p.Refs[i].Updated
	}
	return n
}

// RollsOut reports whether the plan writes a revision for the first time, or would but for a pause. Labels and annotations alone move no rollout,
// and neither do retries of what was rejected.
func (p *Plan) RollsOut() bool {
	return slices.ContainsFunc(p.allWrites(), func(w Write) bool { return w.Action != Relabel && !w.Retry })
}

// namesShown bounds the clusters that a message names: a condition's message may hold 32 KiB.
const namesShown = 5

// Names counts clusters and names the first of them.
func Names(clusters []string) string {
	if len(clusters) == 1 {
		return "1 cluster (" + clusters[0] + ")"
	}
	return fmt.Sprintf("%d clusters (%s)", len(clusters), first(clusters))
}

// first names the first of some clusters.
func first(clusters []string) string {
	if len(clusters) <= namesShown {
		return strings.Join(clusters, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(clusters[:namesShown], ", "), len(clusters)-namesShown)
}
