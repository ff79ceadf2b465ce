package rollout

import (
	"slices"
	"strconv"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Snapshot is all that Decide knows of one ManifestWorkReplicaSet.
type Snapshot struct {
	// Now is the hub's clock.
	Now time.Time
	// DeadlinesSince is when this process's caches had synced, or its connection to the API server had
	// come back: until the agents had time to report, no deadline fires (R11).
	DeadlinesSince time.Time
	// Stall is the last time in which this process did not run: no deadline fires for as long after it (R11).
	Stall Stall
	// Heard holds since when this process has heard the agent of each cluster; a cluster that is not in it was not heard. Nil where
	// works go through the API server, which keeps what agents reported before this process began (R11).
	Heard map[string]time.Time
	// Unreached names the clusters whose agents are there, and do not get what they are sent over a broker, sorted. Nothing is decided by it.
	Unreached []string
	// Settle is how long this process must have seen a success without interruption before it counts (R10).
	Settle time.Duration

	// Update is the revision of today's template. Never nil.
	Update *Revision
	// Current is the last revision that every selected cluster reached; nil when there is none, or when
	// it can't be found or read.
	Current *Revision
	// Absent is why Current is nil; nil where it is not.
	Absent *Absence
	// Older are the other readable revisions: works of an older hub whose spec is one of them get its hash (R6).
	Older []*Revision
	// Aborted says that the rollout of Update was aborted: the desired revision is Current.
	Aborted bool
	// Paused says that no work is written or deleted, and no abort decided, before a person says so (R22).
	Paused bool
	// Restored says that every cluster had confirmed the revision that it went back to: a process that was started since need not see
	// each success for a while before it says so again.
	Restored bool

	// Owner is the value of the works' owner label.
	Owner string
	// Labels are the owner's own labels, which its works have too (R9).
	Labels map[string]string
	// Refs are the placementRefs that count, in spec order. IgnoredRefs is how many more the spec has: which clusters those select is not known
	// (R8).
	Refs        []Ref
	IgnoredRefs int
	// Works are all ManifestWorks that have the owner label.
	Works []Work
	// Rejected are, by cluster, the rejections of the last attempt to write the revision that the works shall have (R11). While aborted, clusters
	// whose writes failed for long in another way are among them: they hold the abort up no more than those do (R4).
	Rejected map[string]Rejection
	// Records are what the status holds about the rollout of Update (R11).
	Records Records
	// Retried is when somebody removed the recorded failure of a cluster from the status: the cluster gets a new deadline (R11).
	Retried map[string]time.Time
	// FastUndo reports whether Update is within the rollback window: it reaches every cluster at once (R12c).
	FastUndo bool
	// Handover is set under pruneStrategy WhenAvailable: objects that a revision drops stay until it is available (R28).
	Handover *Handover
	// WrittenBack are the clusters whose works this process has written back in this abort. What somebody changes there afterwards is written
	// back again, and holds nothing up (R4).
	WrittenBack map[string]bool
}

// BeganLately reports whether this process, or its connection, is so young that no deadline may have fired yet, or did not run a moment ago
// (R11).
func (s *Snapshot) BeganLately() bool {
	return s.Now.Before(later(s.DeadlinesSince.Add(maxGrace), s.Stall.over(maxGrace)))
}

// AssumeSettled returns the snapshot as a process would make it that saw all of it for long: deadlines fire, and what succeeds is settled.
func (s *Snapshot) AssumeSettled() *Snapshot {
	watched := *s
	watched.DeadlinesSince, watched.Stall, watched.Settle = time.Time{}, Stall{}, 0
	watched.Works = slices.Clone(s.Works)
	for i := range watched.Works {
		if w := &watched.Works[i]; w.SucceededSince.IsZero() && !w.Deleting() {
			w.SucceededSince = s.Now
		}
		watched.Works[i].WatchedSince = time.Time{}
	}
	return &watched
}

// Revision is what Decide needs to know of a ControllerRevision.
type Revision struct {
	// Name of the ControllerRevision.
	Name string
	// Hash is its short name.
	Hash string
	// Digest says what its template means.
	Digest revision.Digest
	// Template is what the works get. Never changed.
	Template *workv1.ManifestWorkSpec
	// ReportsDegraded reports whether every agent reports Degraded of it, True or False: until it does, nothing is known (R10).
	ReportsDegraded bool
	// Reused says that the template came back to an older revision: an undo (R3).
	Reused bool
	// BeginsAt is when the template came back to it, or a person tried it again (R3, R4); zero when neither happened. What
	// clusters that have it already did before says nothing about this rollout. It is as it was written: what comes after what is told by it.
	BeginsAt time.Time
	// BeginSeen is when this process saw that first; zero where it does not matter. Times are counted from the earlier of the two (R10).
	BeginSeen time.Time
	// CurrentSince is when every cluster was at it last (R13); zero when that never was.
	CurrentSince time.Time
	// WasCurrent says that it is, or was, the current revision.
	WasCurrent bool
	// Age reports whether it was created before another one.
	Age revision.Age
}

// Underway says that a rollout of this revision began and did not end yet, also when it is one back to the current
// revision.
func (r *Revision) Underway() bool {
	return r.BeginsAt.After(r.CurrentSince)
}

// begins returns BeginsAt as far as times are counted from it: a hub whose clock was ahead must not hold the rollout until its time has come.
func (r *Revision) begins() time.Time {
	if r.BeginSeen.IsZero() {
		return r.BeginsAt
	}
	return earlier(r.BeginsAt, r.BeginSeen)
}

// NewRevision takes over what Decide needs from a readable revision.
func NewRevision(rev *revision.Revision) *Revision {
	reusedAt, reused := rev.ReusedAt()
	retriedAt, _ := rev.RetriedAt()
	currentSince, _ := rev.CurrentSince()
	return &Revision{
		Name:     rev.Object.Name,
		Hash:     rev.Hash,
		Digest:   rev.Digest,
		Template: rev.Template,

		ReportsDegraded: rev.ReportsDegraded,

		Reused:   reused,
		BeginsAt: later(reusedAt, retriedAt), BeginSeen: rev.BeginSeen,

		CurrentSince: currentSince,
		WasCurrent:   rev.WasCurrent(),
		Age:          rev.Age(),
	}
}

// reportsProgress reports whether a rule of the template makes the agent report Progressing (R10).
func (r *Revision) reportsProgress() bool {
	if r.Template == nil {
		return false
	}
	for i := range r.Template.ManifestConfigs {
		for j := range r.Template.ManifestConfigs[i].ConditionRules {
			if r.Template.ManifestConfigs[i].ConditionRules[j].Condition == workv1.ManifestProgressing {
				return true
			}
		}
	}
	return false
}

// Ref is a placementRef and what its Placement decided.
type Ref struct {
	// Name of the Placement.
	Name string
	// Field is the path of the ref in the spec, for messages.
	Field string
	// Strategy is the ref's rollout strategy, as the user wrote it.
	Strategy workv1alpha1.RolloutStrategy
	// Placement is nil where there is no such Placement.
	Placement *Placement
}

// settled says that it is known which clusters the ref selects: its Placement is there, and has made all of its decisions.
func (r *Ref) settled() bool {
	return r.Placement != nil && r.Placement.Decisions > 0 && r.Placement.Matches()
}

// sliceSize is how many clusters OCM's placement controller puts into one PlacementDecision.
const sliceSize = 100

// sliced reports whether the ref's Placement writes its decisions in several slices, or may be about to: the first slice is full.
func (r *Ref) sliced() bool {
	return r.Placement != nil && (r.Placement.Decisions > 1 || r.Placement.seen() >= sliceSize)
}

// Placement is what the PlacementDecisions of a Placement say.
type Placement struct {
	// Selected is the Placement's own count of the clusters that it selected.
	Selected int
	// Decisions is how many PlacementDecision objects were seen.
	Decisions int
	// Groups are the decision groups, by index, each cluster in one of them.
	Groups []Group
}

// seen counts the distinct clusters in the decisions.
func (p *Placement) seen() int {
	n := 0
	for i := range p.Groups {
		n += len(p.Groups[i].Clusters)
	}
	return n
}

// Matches reports whether the decisions that were seen are all that the Placement made: they are written
// in slices, one after the other (R8).
func (p *Placement) Matches() bool {
	return p.seen() == p.Selected
}

// Group is a decision group.
type Group struct {
	Name     string
	Index    int32
	Clusters []string
}

// Key is how AnnotationDecisionGroup names a group: "<index>/<name>".
func (g *Group) Key() string {
	return strconv.Itoa(int(g.Index)) + "/" + g.Name
}
