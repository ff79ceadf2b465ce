package rollout

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Snapshot is all that Decide knows of one ManifestWorkReplicaSet.
type Snapshot struct {
	// Now is the hub's clock.
	Now time.Time
	// DeadlinesSince is when this process's caches had synced, or its connection to the API server had
	// come back: until the agents had time to report, no deadline fires (R11).
	DeadlinesSince time.Time
	// Heard holds since when this process has heard the agent of each cluster; a cluster that is not in it was not heard. Nil where
	// works go through the API server, which keeps what agents reported before this process began (R11).
	Heard map[string]time.Time
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
	// Refused are, by cluster, the refusals of the last attempt to write the revision that the works shall have (R11). While aborted, clusters
	// whose writes failed for long in another way are among them: they hold the abort up no more than those do (R4).
	Refused map[string]Refusal
	// Handover is set under pruneStrategy WhenAvailable: objects that a revision drops stay until it is available (R28).
	Handover *Handover
	// WrittenBack are the clusters whose works this process has written back in this abort. What somebody changes there afterwards is written
	// back again, and holds nothing up (R4).
	WrittenBack map[string]bool
}

// BeganLately says that this process, or its connection, is so young that no deadline may have fired yet (R11).
func (s *Snapshot) BeganLately() bool {
	return s.Now.Before(s.DeadlinesSince.Add(maxGrace))
}

// Watched is the snapshot as a process would make it that saw all of it for long: deadlines fire, and what succeeds is settled.
func (s *Snapshot) Watched() *Snapshot {
	watched := *s
	watched.DeadlinesSince, watched.Settle = time.Time{}, 0
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
	// clusters that have it already did before says nothing about this rollout.
	BeginsAt time.Time
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
		BeginsAt: later(reusedAt, retriedAt),

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
// in slices, one after the other (R8, R13).
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

// Work is a ManifestWork of the owner, and what this process knows of it.
type Work struct {
	// Object is the ManifestWork, shared with a cache: never changed.
	Object *workv1.ManifestWork
	// Digest says what its spec means. Empty when the spec can't be read: it then equals no revision.
	Digest revision.Digest
	// DeletionCounts says that the deletion of a work makes a generation of its own, as the API server has it.
	DeletionCounts bool
	// SucceededSince is since when this process has seen it succeed without interruption; zero when it does not (R10). Of a work that
	// is being deleted, what was seen before.
	SucceededSince time.Time
	// TurnedAt is when this process saw the work turn, at the revision that it has, from success to something else or the other
	// way; zero when it saw no turn. What it saw holds also where the agent's clock is wrong (R10).
	TurnedAt time.Time
	// WatchedSince is since when this process has seen what became of the last write of its revision; zero for always.
	WatchedSince time.Time
	// SettledAt is when this process found a success of that write settled first; zero when it did not (R11).
	SettledAt time.Time
	// ClockAhead says that this process saw the agent's clock more than a minute ahead of the hub's at this revision: also when that
	// minute has come, its transitions are not believed (R10).
	ClockAhead bool
	// Stray says that no hub gives a work of this owner its name: somebody gave it the owner label. It does not count where nothing selects its
	// cluster (R8).
	Stray bool
	// UnselectedSince is since when this process has seen no ref select its cluster; zero when one does (R8).
	UnselectedSince time.Time
	// SelectedBy are the Placements with several slices that this process last saw selecting the cluster; nil where it saw none (R8).
	SelectedBy []string
	// AcceptedAs is the digest that was asked for where the API server stored something else, at this generation:
	// asking again would not change it (R10).
	AcceptedAs revision.Digest
	// Combined is what a work of its revision holds together with the objects of the one that it names as kept; nil where it names none, and
	// where objects that a revision drops go at once (R29).
	Combined *handover.Combined
}

// Cluster is the managed cluster that the work is for.
func (w *Work) Cluster() string { return w.Object.Namespace }

// Hash is the short name of the revision that the work has; empty when it has none.
func (w *Work) Hash() string { return w.Object.Labels[workv1alpha1.LabelControllerHash] }

// PlacementName is the Placement that the work is counted under.
func (w *Work) PlacementName() string { return w.Object.Labels[workv1alpha1.LabelPlacement] }

// Deleting says that the work waits for its agent to let it go.
func (w *Work) Deleting() bool { return !w.Object.DeletionTimestamp.IsZero() }

// SpecGeneration is the generation that the last write of the spec made. That of a work that is being deleted is one less than its own:
// the API server counts the deletion as well, and the agent applies nothing any more that would have that generation.
func (w *Work) SpecGeneration() int64 {
	if w.DeletionCounts && w.Deleting() {
		return w.Object.Generation - 1
	}
	return w.Object.Generation
}

// Observed reports whether a condition is about the spec that the work has. There are two generations of it where the work is being
// deleted.
func (w *Work) Observed(condition *metav1.Condition) bool {
	return w.SpecGeneration() <= condition.ObservedGeneration && condition.ObservedGeneration <= w.Object.Generation
}

// AppliedAt is when the hub wrote the revision that the work has; false when the annotation is missing or unreadable.
func (w *Work) AppliedAt() (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, w.Object.Annotations[workv1alpha1.AnnotationAppliedAt])
	return at, err == nil
}

// At reports whether the work is at a revision: it has the hash and the time, and its spec is the template's (R10), or the template's with what is
// kept beside it (R29). A work that someone edited is not. A work that ran to completion since it was written is at the revision that it has, also where the API server
// stored it differently: its agent takes no other, and another write would only hide what it completed (R17).
func (w *Work) At(rev *Revision) bool {
	if rev == nil || w.Hash() != rev.Hash {
		return false
	}
	if _, ok := w.AppliedAt(); !ok {
		return false
	}
	return w.Digest == rev.Digest || (w.AcceptedAs != "" && w.AcceptedAs == rev.Digest) || w.InHandover() || w.ranToCompletion()
}

// decisionGroup is the group that the cluster was in when the revision was written.
func (w *Work) decisionGroup() (index int32, name string, ok bool) {
	number, name, found := strings.Cut(w.Object.Annotations[workv1alpha1.AnnotationDecisionGroup], "/")
	if !found {
		return 0, "", false
	}
	n, err := strconv.ParseInt(number, 10, 32)
	return int32(n), name, err == nil
}
