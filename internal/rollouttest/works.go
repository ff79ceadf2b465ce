package rollouttest

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Epoch is the time at which the stories begin.
var Epoch = time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)

// At returns a time of a story.
func At(since time.Duration) time.Time { return Epoch.Add(since) }

// The owner of every work, unless a test sets another one.
const (
	OwnerNamespace = "default"
	OwnerName      = "web"
)

// Owner is the value of the owner label.
var Owner = workv1alpha1.OwnerLabelValue(OwnerNamespace, OwnerName)

// OwnerMetadata returns the metadata of a work whose owner has no labels.
func OwnerMetadata() *work.OwnerMetadata {
	return work.NewOwnerMetadata(Owner, nil, false)
}

// WorkOption changes a work.
type WorkOption func(*work.Work)

// Work returns a work of a cluster, of placement p1 and generation 1, without a revision or conditions.
func Work(cluster string, options ...WorkOption) work.Work {
	w := work.Work{Object: &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Name:              OwnerName,
		Namespace:         cluster,
		UID:               types.UID("uid-of-" + cluster),
		Generation:        1,
		CreationTimestamp: metav1.NewTime(Epoch),
		Labels:            map[string]string{workv1alpha1.LabelReplicaSet: Owner, workv1alpha1.LabelPlacement: "p1"},
		Annotations:       work.Annotations(nil),
	}}}
	for _, option := range options {
		option(&w)
	}
	if w.Deleting() {
		w.DeletionCounts = true
		w.Object.Generation++
	}
	stamp(w.Object.Status.Conditions, w.SpecGeneration())
	for i := range w.Object.Status.ResourceStatus.Manifests {
		stamp(w.Object.Status.ResourceStatus.Manifests[i].Conditions, w.SpecGeneration())
	}
	return w
}

// AtRevision gives the work the hash and the content of a revision, written at Epoch.
func AtRevision(hash string) WorkOption {
	return func(w *work.Work) {
		w.Object.Labels[workv1alpha1.LabelControllerHash] = hash
		w.Digest = DigestOf(hash)
		WrittenAt(0)(w)
	}
}

// WrittenAt sets applied-at.
func WrittenAt(since time.Duration) WorkOption {
	return func(w *work.Work) {
		w.Object.Annotations[workv1alpha1.AnnotationAppliedAt] = At(since).Format(time.RFC3339Nano)
	}
}

// NeverWritten removes applied-at.
func NeverWritten() WorkOption {
	return func(w *work.Work) { delete(w.Object.Annotations, workv1alpha1.AnnotationAppliedAt) }
}

// Holds sets the content, and leaves the hash label as it is.
func Holds(hash string) WorkOption {
	return func(w *work.Work) { w.Digest = DigestOf(hash) }
}

// Edited sets content that equals no revision.
func Edited() WorkOption {
	return func(w *work.Work) { w.Digest = "edited by hand" }
}

// StoredOtherwise means that the API server stored content that differs from the revision's.
func StoredOtherwise(hash string) WorkOption {
	return func(w *work.Work) { w.Digest, w.AcceptedAs = "pruned", DigestOf(hash) }
}

// OfPlacement sets the placement label.
func OfPlacement(name string) WorkOption {
	return func(w *work.Work) { w.Object.Labels[workv1alpha1.LabelPlacement] = name }
}

// InGroup sets the decision group in which the work was written, as "<index>/<name>".
func InGroup(key string) WorkOption {
	return func(w *work.Work) { w.Object.Annotations[workv1alpha1.AnnotationDecisionGroup] = key }
}

// Named sets the name, and a UID that follows from it.
func Named(name string) WorkOption {
	return func(w *work.Work) {
		w.Object.Name = name
		w.Object.UID = types.UID("uid-of-" + w.Object.Namespace + "/" + name)
	}
}

// CreatedAt sets the creation time.
func CreatedAt(since time.Duration) WorkOption {
	return func(w *work.Work) { w.Object.CreationTimestamp = metav1.NewTime(At(since)) }
}

// Deleting means that the work has been waiting for its agent to release it since Epoch. The deletion increased the generation.
func Deleting() WorkOption { return DeletedAt(0) }

// DeletedAt is Deleting since a time.
func DeletedAt(since time.Duration) WorkOption {
	return func(w *work.Work) {
		at := metav1.NewTime(At(since))
		w.Object.DeletionTimestamp = &at
	}
}

// Unselected sets the time since which no ref has been seen to select the cluster.
func Unselected(since time.Duration) WorkOption {
	return func(w *work.Work) { w.UnselectedSince = At(since) }
}

// SelectedBy sets the Placements with several slices that were seen to select the cluster.
func SelectedBy(placements ...string) WorkOption {
	return func(w *work.Work) { w.SelectedBy = placements }
}

// SeenSucceeding sets the time since which this process has seen the work succeed.
func SeenSucceeding(since time.Duration) WorkOption {
	return func(w *work.Work) { w.SucceededSince = At(since) }
}

// StateChangedAt sets the time at which this process saw the work change.
func StateChangedAt(since time.Duration) WorkOption {
	return func(w *work.Work) { w.StateChangedAt = At(since) }
}

// WatchedSince sets the time since which this process has watched the result of the last write.
func WatchedSince(since time.Duration) WorkOption {
	return func(w *work.Work) { w.WatchedSince = At(since) }
}

// Relapsed records that this process saw the end of a success.
func Relapsed() WorkOption { return func(w *work.Work) { w.Relapsed = true } }

// SettledAt sets the time at which this process found the work settled.
func SettledAt(since time.Duration) WorkOption {
	return func(w *work.Work) { w.SettledAt = At(since) }
}

// ClockAhead means that the clock of the work's agent was seen to be ahead.
func ClockAhead() WorkOption {
	return func(w *work.Work) { w.ClockAhead = true }
}

// JustSeenSucceeding means that this process sees the work succeed for the first time.
func JustSeenSucceeding() WorkOption {
	return func(w *work.Work) { w.SucceededSince = time.Time{} }
}

// Labelled puts a label on the work.
func Labelled(key, value string) WorkOption {
	return func(w *work.Work) { w.Object.Labels[key] = value }
}

// Annotated sets an annotation on the work. An empty value removes it.
func Annotated(key, value string) WorkOption {
	return func(w *work.Work) {
		w.Object.Annotations[key] = value
		if value == "" {
			delete(w.Object.Annotations, key)
		}
	}
}

// Copied sets which labels were copied from the owner.
func Copied(keys ...string) WorkOption {
	return func(w *work.Work) {
		w.Object.Annotations[workv1alpha1.AnnotationCopiedLabels] = strings.Join(keys, ",")
	}
}

// Generation sets the generation of the work.
func Generation(generation int64) WorkOption {
	return func(w *work.Work) { w.Object.Generation = generation }
}

// DigestOf returns the digest of the revision with a hash.
func DigestOf(hash string) revision.Digest { return revision.Digest("digest of " + hash) }
