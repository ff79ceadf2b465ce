package rollout

import (
	"slices"
	"strconv"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Snapshot is everything that Decide knows about one ManifestWorkReplicaSet.
type Snapshot struct {
	// Now is the hub's clock.
	Now time.Time
	// DeadlinesSince is when this process's caches had synced, or its connection to the API server returned. No deadline fires until the
	// agents have had time to report (R11).
	DeadlinesSince time.Time
	// Stall is the last period in which this process did not run. No deadline fires for the same length of time after it (R11).
	Stall Stall
	// Heard holds when this process first heard the agent of each cluster. A cluster that is not in it was not heard. It is nil if works go
	// through the API server, which keeps the reports from before this process began (R11).
	Heard map[string]time.Time
	// Unreached names the clusters whose agents are available but do not receive what the broker sends them, sorted. No decision depends on
	// it.
	Unreached []string
	// Settle is how long this process must have seen a success without interruption before it counts (R10).
	Settle time.Duration

	// Update is the revision of the current template. It is never nil.
	Update *Revision
	// Current is the last revision that every selected cluster reached; nil if there is none, or if it can't be found or read.
	Current *Revision
	// Absent is why Current is nil; nil if Current is not nil.
	Absent *Absence
	// Older are the other readable revisions. A work of an older hub whose spec matches one of them gets its hash (R6).
	Older []*Revision
	// Aborted is true if the rollout of Update was aborted: the desired revision is Current.
	Aborted bool
	// Paused is true if no work is written or deleted, and no abort decided, until a user ends the pause (R22).
	Paused bool
	// Restored is true if every cluster has confirmed the revision that it was rolled back to. A process that started since then reports that
	// again without watching each success first.
	Restored bool

	// Owner is the value of the works' owner label.
	Owner string
	// Labels are the owner's own labels, which its works have too (R9).
	Labels map[string]string
	// Refs are the placementRefs that count, in spec order. IgnoredRefs is how many more the spec has: the clusters that those select are
	// unknown (R8).
	Refs        []Ref
	IgnoredRefs int
	// Works are all ManifestWorks that have the owner label.
	Works []Work
	// Rejected are, by cluster, the rejections of the last attempt to write the desired revision (R11). While aborted, it includes clusters
	// whose writes keep failing in another way: neither kind holds up the abort (R4).
	Rejected map[string]Rejection
	// Unanswered are the clusters whose last write of the desired revision failed lately without a rejection. It may have arrived.
	Unanswered map[string]bool
	// Records are the facts in the status about the rollout of Update (R11).
	Records Records
	// Retried is when somebody removed the recorded failure of a cluster from the status: the cluster gets a new deadline (R11).
	Retried map[string]time.Time
	// FastUndo is true if Update is within the rollback window: it reaches every cluster at once (R12c).
	FastUndo bool
	// Handover is set under pruneStrategy WhenAvailable: objects that a revision drops stay until it is available (R28).
	Handover *Handover
	// WrittenBack are the clusters whose works this process has restored in this abort. If somebody changes such a work afterwards, it is
	// restored again, and does not hold up the abort (R4).
	WrittenBack map[string]bool
}

// BeganLately reports whether this process or its connection started so recently, or the process stalled so recently, that deadlines may
// not have fired yet (R11).
func (s *Snapshot) BeganLately() bool {
	return s.Now.Before(later(s.DeadlinesSince.Add(maxGrace), s.Stall.over(maxGrace)))
}

// AssumeSettled returns the snapshot of a process that has watched for a long time: deadlines fire, and successes are settled.
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

// Revision is the part of a ControllerRevision that Decide needs.
type Revision struct {
	// Name of the ControllerRevision.
	Name string
	// Hash is its short name.
	Hash string
	// Digest is the digest of its template.
	Digest revision.Digest
	// Template is the spec that the works get. It must not be changed.
	Template *workv1.ManifestWorkSpec
	// ReportsDegraded is true if every agent reports Degraded for it, True or False. Until an agent does, its cluster has not succeeded
	// (R10).
	ReportsDegraded bool
	// Reused is true if the template returned to an older revision: an undo (R3).
	Reused bool
	// BeginsAt is when the template returned to it, or a user retried it (R3, R4); zero if neither happened. Earlier reports of clusters that
	// already have it do not count for this rollout. It is the stored time, which decides the order of events.
	BeginsAt time.Time
	// BeginSeen is when this process first saw that; zero if it does not matter. Times are counted from the earlier of the two (R10).
	BeginSeen time.Time
	// CurrentSince is when it last became the current revision (R13); zero if it never did.
	CurrentSince time.Time
	// WasCurrent is true if it is, or was, the current revision.
	WasCurrent bool
	// Age tells which of two revisions was created first.
	Age revision.Age
}

// Underway reports whether a rollout of this revision has begun and not ended, even if it is a rollout back to the current revision.
func (r *Revision) Underway() bool {
	return r.BeginsAt.After(r.CurrentSince)
}

// begins returns the time from which the rollout counts: BeginsAt, or BeginSeen if that is earlier. If the hub that wrote BeginsAt had a
// clock ahead of the real time, the rollout must not wait for that time.
func (r *Revision) begins() time.Time {
	if r.BeginSeen.IsZero() {
		return r.BeginsAt
	}
	return earlier(r.BeginsAt, r.BeginSeen)
}

// NewRevision returns the part of a readable revision that Decide needs.
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
	// Placement is nil if the Placement does not exist.
	Placement *Placement
}

// settled reports whether the clusters that the ref selects are known: its Placement exists, and all of its decisions were seen.
func (r *Ref) settled() bool {
	return r.Placement != nil && r.Placement.Decisions > 0 && r.Placement.Matches()
}

// sliceSize is how many clusters OCM's placement controller puts into one PlacementDecision.
const sliceSize = 100

// sliced reports whether the ref's Placement writes its decisions in several slices, or may be about to: the first slice is full.
func (r *Ref) sliced() bool {
	return r.Placement != nil && (r.Placement.Decisions > 1 || r.Placement.seen() >= sliceSize)
}

// Placement is the content of the PlacementDecisions of a Placement.
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

// Matches reports whether all decisions of the Placement were seen: OCM writes them in slices, one after the other (R8).
func (p *Placement) Matches() bool {
	return p.seen() == p.Selected
}

// Group is a decision group.
type Group struct {
	Name     string
	Index    int32
	Clusters []string
}

// Key returns the name of a group in AnnotationDecisionGroup: "<index>/<name>".
func (g *Group) Key() string {
	return strconv.Itoa(int(g.Index)) + "/" + g.Name
}
