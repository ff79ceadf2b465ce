package work

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Work is a ManifestWork of the owner, with this process's observations of it.
type Work struct {
	// Object is the ManifestWork. It is shared with a cache, and must not be changed.
	Object *workv1.ManifestWork
	// Digest is the digest of its spec. It is empty if the spec can't be read, and then matches no revision.
	Digest revision.Digest
	// DeletionCounts is true if the deletion of a work increments its generation, as in the API server.
	DeletionCounts bool
	Observations
	// UnexpectedName is true if no hub gives this name to a work of this owner: a user added the owner label. The work does not count if
	// nothing selects its cluster.
	UnexpectedName bool
	// DeletionSeen is the time at which this process first saw that the work is being deleted; zero if it does not matter.
	DeletionSeen time.Time
	// AcceptedAs is the digest that the hub requested, if the API server stored a different spec at this generation. Another request would
	// have the same result.
	AcceptedAs revision.Digest
	// Combined is the content of a work that has its revision together with objects of the kept revision that it names. It is nil if the work
	// names no kept revision, or if dropped objects are deleted at once.
	Combined *handover.Combined

	// marks were read from the object; nil if they were not.
	marks *marks
}

// Observations are what this process has observed of a work since it began to watch it.
type Observations struct {
	// SucceededSince is the time at which the current success began, if this process has seen it without interruption; zero if the work does
	// not succeed. For a work that is being deleted, it is the last value before the deletion.
	SucceededSince time.Time
	// StateChangedAt is the time at which this process saw the work change, at its revision, from success to another state or back; zero if it
	// saw no change. It does not depend on the agent's clock.
	StateChangedAt time.Time
	// Relapsed is true if this process saw the end of a success at its revision.
	Relapsed bool
	// WatchedSince is the time at which this process began to watch the work after the last write of its revision; zero if it has always
	// watched.
	WatchedSince time.Time
	// SettledAt is the time at which this process first found a success of that write settled; zero if it has not.
	SettledAt time.Time
	// ClockAhead is true if this process saw the agent's clock more than a minute ahead of the hub's at this revision. Its transitions are
	// then ignored, even after the hub's clock has passed those times.
	ClockAhead bool
	// UnselectedSince is the time at which this process first saw that no placementRef selects its cluster; zero if one
	// selects it.
	UnselectedSince time.Time
	// LeftSince is the time at which this process first saw that the work's Placement no longer names its cluster, while OCM may still be
	// writing the decisions; zero if neither applies.
	LeftSince time.Time
	// SelectedBy are the Placements with several slices that selected the cluster when this process last looked; nil if there were none.
	SelectedBy []string
}

// marks are the parts of a work's object that decisions read many times, the most frequent first.
type marks struct {
	cluster, hash, placement string
	generation               int64
	isDeleting, isApplied    bool
	appliedAt, createdAt     time.Time
	// conditions are the conditions that affect decisions, and latest is the latest transition of any condition.
	conditions conditions
	manifests  []workv1.ManifestCondition
	latest     time.Time
	report     Report
	// owner is the value of the owner label, and copied the keys of the owner's labels that were copied.
	kept, owner, copied string
	// group is the group of the cluster when the work was written, if isGrouped is true.
	group     placement.Group
	isGrouped bool
	// keptByTools is true if the annotations keep GitOps tools from deleting the work.
	keptByTools bool
}

// Read reads the parts of the object that decisions need, once. The object must not change after that. Without Read, they are read each
// time.
func (w *Work) Read() { w.marks = w.read() }

// read returns the marks that Read kept, or else reads them.
func (w *Work) read() *marks {
	if w.marks != nil {
		return w.marks
	}
	labels, annotations := w.Object.Labels, w.Object.Annotations
	m := &marks{
		cluster: w.Object.Namespace, generation: w.Object.Generation, createdAt: w.Object.CreationTimestamp.Time,
		manifests: w.Object.Status.ResourceStatus.Manifests,
		hash:      labels[workv1alpha1.LabelControllerHash], placement: labels[workv1alpha1.LabelPlacement],
		kept: annotations[workv1alpha1.AnnotationKeptRevision], isDeleting: !w.Object.DeletionTimestamp.IsZero(),
		owner: labels[workv1alpha1.LabelReplicaSet], copied: annotations[workv1alpha1.AnnotationCopiedLabels], keptByTools: keptByTools(annotations),
	}
	at, err := time.Parse(time.RFC3339Nano, annotations[workv1alpha1.AnnotationAppliedAt])
	m.appliedAt, m.isApplied = at, err == nil
	m.conditions, m.latest = readConditions(w.Object.Status.Conditions)
	m.report = Report{
		applied: printOf(m.conditions.applied), progressing: printOf(m.conditions.progressing),
		available: printOf(m.conditions.available), degraded: printOf(m.conditions.degraded),
	}
	if m.isApplied {
		m.report.AppliedAt = at.UnixNano()
	}
	m.group, m.isGrouped = placement.GroupOf(annotations[workv1alpha1.AnnotationDecisionGroup])
	return m
}

// Showing returns the work with another version of its object.
func (w *Work) Showing(object *workv1.ManifestWork) *Work {
	shown := *w
	shown.Object, shown.marks = object, nil
	return &shown
}

// Cluster returns the managed cluster of the work.
func (w *Work) Cluster() string { return w.read().cluster }

// Hash returns the short name of the work's revision; empty if the work has no revision.
func (w *Work) Hash() string { return w.read().hash }

// PlacementName returns the Placement that the work counts for.
func (w *Work) PlacementName() string { return w.read().placement }

// Deleting reports whether the work is being deleted: it waits for its agent to remove the finalizer.
func (w *Work) Deleting() bool { return w.read().isDeleting }

// DeletedAt returns the time at which the work was deleted, by the hub's clock, or when this process first saw the deletion if that is
// earlier.
func (w *Work) DeletedAt() time.Time {
	if w.DeletionSeen.IsZero() {
		return w.Object.DeletionTimestamp.Time
	}
	return Earlier(w.Object.DeletionTimestamp.Time, w.DeletionSeen)
}

// SpecGeneration returns the generation that the last write of the spec created. For a work that is being deleted, it is one less than the
// work's generation: the deletion increments the generation, too, and the agent applies nothing at that last generation.
func (w *Work) SpecGeneration() int64 {
	is := w.read()
	if w.DeletionCounts && is.isDeleting {
		return is.generation - 1
	}
	return is.generation
}

// Observed reports whether a condition is about the current spec of the work. A work that is being deleted has two generations of that
// spec.
func (w *Work) Observed(condition *metav1.Condition) bool {
	return w.SpecGeneration() <= condition.ObservedGeneration && condition.ObservedGeneration <= w.read().generation
}

// ReportedSinceDeletion reports whether the agent has reported since the work was deleted, which overwrites earlier reports. Over a
// broker, a deletion does not increment the generation, so the time of a report decides.
func (w *Work) ReportedSinceDeletion() bool {
	return w.Deleting() && slices.ContainsFunc(w.Object.Status.Conditions, func(c metav1.Condition) bool {
		if !w.DeletionCounts {
			return c.LastTransitionTime.After(w.DeletedAt())
		}
		return w.Observed(&c) && c.ObservedGeneration > w.SpecGeneration()
	})
}

// AppliedAt returns the time at which the hub wrote the work's revision; false if the annotation is missing or
// unreadable.
func (w *Work) AppliedAt() (time.Time, bool) {
	is := w.read()
	return is.appliedAt, is.isApplied
}

// At reports whether the work, which may be nil, is at a revision: it has the hash and the time, and its spec is that of the template,
// possibly with kept objects. An edited work is not at the revision. A work that has run to completion since it was written is at its
// revision, even if the API server stored it differently. Its agent does not apply another spec, and another write would only hide which
// spec it completed.
func (w *Work) At(rev *Revision) bool {
	if w == nil || rev == nil || w.Hash() != rev.Hash {
		return false
	}
	if _, ok := w.AppliedAt(); !ok {
		return false
	}
	return w.Digest == rev.Digest || (w.AcceptedAs != "" && w.AcceptedAs == rev.Digest) || w.InHandover() || w.ranToCompletion()
}

// DecisionGroup returns the group of the cluster when the revision was written.
func (w *Work) DecisionGroup() (group placement.Group, known bool) {
	return w.read().group, w.read().isGrouped
}

// Settled reports whether this process has found a success of this rollout settled.
func (w *Work) Settled(update *Revision) bool {
	return !w.SettledAt.IsZero() && w.SettledAt.After(w.Begin(update))
}

// Begin returns the time at which this rollout reached the work: when the hub wrote the revision or, if the work already had it, when the
// new rollout began.
func (w *Work) Begin(rev *Revision) time.Time {
	return Later(w.WrittenAt(), rev.begins())
}

// WrittenAt returns the time at which the hub wrote the work's revision, or when this process saw the write if that is earlier. So an agent
// that postdates the time, or a hub whose clock was ahead, does not extend a deadline. A work that was recreated from a copy has the
// annotation of the original, so its creation time counts if it is later.
func (w *Work) WrittenAt() time.Time {
	is := w.read()
	appliedAt := is.appliedAt
	if w.DeletionCounts { // The API server set the creation time.
		appliedAt = Later(appliedAt, is.createdAt)
	}
	if w.WatchedSince.IsZero() {
		return appliedAt
	}
	return Earlier(appliedAt, w.WatchedSince)
}

// Earlier returns the earlier of two times.
func Earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Foreign reports whether another hub wrote the work: such a hub removes the labels and annotations of this hub. If a user removed only
// the label, the annotation still identifies this hub.
func (w *Work) Foreign() bool {
	_, applied := w.Object.Annotations[workv1alpha1.AnnotationAppliedAt]
	return w.Hash() == "" && !applied && !w.Deleting()
}

// HasOther reports whether a work, which may be nil, has another revision.
func (w *Work) HasOther(rev *Revision) bool {
	return w != nil && w.Hash() != "" && w.Hash() != rev.Hash && !w.At(rev)
}

// KeptRevision returns the hash of the revision whose objects the work keeps beside its own; empty if it keeps none.
func (w *Work) KeptRevision() string { return w.read().kept }

// InHandover reports whether the work holds its revision together with objects of another revision.
func (w *Work) InHandover() bool {
	return w.Combined != nil && (w.Digest == w.Combined.Digest || w.AcceptedAs != "" && w.AcceptedAs == w.Combined.Digest)
}

// StoredAsWritten reports whether the API server stored the spec of a work, which is at a revision, as the hub wrote it.
func (w *Work) StoredAsWritten(rev *Revision) bool {
	return w.Digest == rev.Digest || w.Combined != nil && w.Digest == w.Combined.Digest
}

// Having returns how many clusters have a work with the given revision.
func Having(works []Work, hash string) int {
	clusters := sets.New[string]()
	for i := range works {
		if w := &works[i]; w.Hash() == hash && !w.UnexpectedName {
			clusters.Insert(w.Cluster())
		}
	}
	return clusters.Len()
}
