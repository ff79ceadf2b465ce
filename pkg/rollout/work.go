package rollout

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

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
	// StateChangedAt is when this process saw the work change, at the revision that it has, from success to something else or the other
	// way; zero when it saw no change. What it saw holds also where the agent's clock is wrong (R10).
	StateChangedAt time.Time
	// WatchedSince is since when this process has seen what became of the last write of its revision; zero for always.
	WatchedSince time.Time
	// SettledAt is when this process found a success of that write settled first; zero when it did not (R11).
	SettledAt time.Time
	// ClockAhead says that this process saw the agent's clock more than a minute ahead of the hub's at this revision: also when that
	// minute has come, its transitions are not believed (R10).
	ClockAhead bool
	// UnexpectedName is true if no hub names a work of this owner like this: somebody gave it the owner label. It does not count if nothing
	// selects its cluster (R8).
	UnexpectedName bool
	// DeletionSeen is when this process saw first that it is being deleted; zero where it does not matter (R10).
	DeletionSeen time.Time
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

// deletedAt is when the work was deleted, by the hub's clock: at the latest when this process saw it.
func (w *Work) deletedAt() time.Time {
	if w.DeletionSeen.IsZero() {
		return w.Object.DeletionTimestamp.Time
	}
	return earlier(w.Object.DeletionTimestamp.Time, w.DeletionSeen)
}

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

// At reports whether the work is at a revision: it has the hash and the time, and its spec is the template's (R10), or the template's with
// what is kept beside it. A work that somebody edited is not. A work that ran to completion since it was written is at the revision that it
// has, even if the API server stored it differently: its agent takes no other, and another write would only hide what it completed.
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

// settled reports whether this process has found a success of this rollout settled.
func (w *Work) settled(update *Revision) bool {
	return !w.SettledAt.IsZero() && w.SettledAt.After(w.begin(update))
}

// begin returns when this rollout reached the work: when the hub wrote it, or when it had it already and a new rollout of it began.
func (w *Work) begin(rev *Revision) time.Time {
	return later(w.writtenAt(), rev.begins())
}

// writtenAt returns when the hub wrote the revision that the work has. The hub wrote it before this process saw that: an agent that dates it
// later, or a hub whose clock was ahead, gains no time by it (R10).
func (w *Work) writtenAt() time.Time {
	appliedAt, _ := w.AppliedAt()
	if w.WatchedSince.IsZero() {
		return appliedAt
	}
	return earlier(appliedAt, w.WatchedSince)
}

// at is At for a work that may not exist.
func (w *Work) at(rev *Revision) bool { return w != nil && w.At(rev) }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
