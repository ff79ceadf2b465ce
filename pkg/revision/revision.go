package revision

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Revision is a ControllerRevision, read.
type Revision struct {
	// Object is the ControllerRevision. It is shared with the cache that it came from: never changed.
	Object *appsv1.ControllerRevision
	// Hash is the value of its label controller-hash.
	Hash string
	// Template is the template that it holds; nil when Err is set.
	Template *workv1.ManifestWorkSpec
	// Digest says what the template means; empty when Err is set.
	Digest Digest
	// ReportsDegraded reports whether every agent reports Degraded of it (R10).
	ReportsDegraded bool
	// BeginSeen is when this process saw first that a template came back to it, or that it was tried again, or when those times are where they
	// are earlier; zero where nobody noted it (R10).
	BeginSeen time.Time
	// Err says why the data can't be read.
	Err error
}

// data is the shape of a revision's data (R2).
type data struct {
	Spec struct {
		ManifestWorkTemplate *workv1.ManifestWorkSpec `json:"manifestWorkTemplate"`
	} `json:"spec"`
}

// Decode reads a ControllerRevision. What can't be read is in Err, in the words of the object.
func Decode(object *appsv1.ControllerRevision) Revision {
	rev := Revision{Object: object, Hash: object.Labels[workv1alpha1.LabelControllerHash]}
	template, err := templateOf(object.Data.Raw)
	if err == nil {
		rev.Digest, err = DigestOf(template)
	}
	if err != nil {
		rev.Err = fmt.Errorf("ControllerRevision %s/%s holds no template in data.spec.manifestWorkTemplate: %w",
			object.Namespace, object.Name, err)
		return rev
	}
	rev.Template, rev.ReportsDegraded = template, ReportsDegraded(template)
	return rev
}

func templateOf(raw []byte) (*workv1.ManifestWorkSpec, error) {
	var content data
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, err
	}
	if content.Spec.ManifestWorkTemplate == nil {
		return nil, errors.New("the field is absent")
	}
	return content.Spec.ManifestWorkTemplate, nil
}

// Name is the only name under which a revision with this hash counts (R2).
func Name(owner, hash string) string {
	return owner + "-" + hash
}

// New makes the ControllerRevision of a template of an owner (R2).
func New(
	owner *workv1alpha1.ManifestWorkReplicaSet, template *workv1.ManifestWorkSpec, hash string, number int64,
) (*appsv1.ControllerRevision, error) {
	var content data
	content.Spec.ManifestWorkTemplate = template
	raw, err := json.Marshal(&content)
	if err != nil {
		return nil, fmt.Errorf("encoding the template of revision %s: %w", Name(owner.Name, hash), err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:      Name(owner.Name, hash),
			Namespace: owner.Namespace,
			Labels: map[string]string{
				workv1alpha1.LabelControllerHash: hash,
				workv1alpha1.LabelReplicaSet:     workv1alpha1.OwnerLabelValue(owner.Namespace, owner.Name),
			},
			Annotations: map[string]string{
				workv1alpha1.AnnotationGeneration: strconv.FormatInt(owner.Generation, 10),
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, workv1alpha1.ManifestWorkReplicaSetKind)},
		},
		Data:     runtime.RawExtension{Raw: raw},
		Revision: number,
	}, nil
}

// CurrentSince is when this revision became the current one, and whether it ever did (R16).
func (r *Revision) CurrentSince() (time.Time, bool) {
	return r.timeAnnotation(workv1alpha1.AnnotationCurrentSince)
}

// WasCurrent reports whether this revision is, or was, the current one, also where another hub rolled out past it since (R16).
func (r *Revision) WasCurrent() bool {
	_, current := r.CurrentSince()
	_, surpassed := r.SurpassedAt()
	return current || surpassed
}

// SurpassedAt is when this hub found that another one had rolled out past this revision, which was the current one, and whether that
// was so (R6).
func (r *Revision) SurpassedAt() (time.Time, bool) {
	return r.timeAnnotation(workv1alpha1.AnnotationSurpassed)
}

// Recorded reports whether another hub rolled this revision out, and this one recorded it from the works (R6).
func (r *Revision) Recorded() bool {
	_, recorded := r.timeAnnotation(workv1alpha1.AnnotationRecorded)
	return recorded
}

// RecordedOn is the only cluster that was known to have this revision when it became the current one; empty for more (R6).
func (r *Revision) RecordedOn() string {
	return r.Object.Annotations[workv1alpha1.AnnotationRecordedOn]
}

// Rebuilt reports whether the revision was deleted and rebuilt (R7).
func (r *Revision) Rebuilt() bool {
	_, rebuilt := r.Object.Annotations[workv1alpha1.AnnotationFirstCreated]
	return rebuilt
}

// AbortedAt is when the rollout of this revision was aborted, and whether it was (R16).
func (r *Revision) AbortedAt() (time.Time, bool) {
	return r.timeAnnotation(workv1alpha1.AnnotationAborted)
}

// Restored says that every cluster confirmed the revision that it was brought back to when this one's rollout was aborted.
func (r *Revision) Restored() bool {
	_, restored := r.RestoredAt()
	return restored
}

// RestoredAt returns when that was.
func (r *Revision) RestoredAt() (time.Time, bool) {
	return r.timeAnnotation(workv1alpha1.AnnotationRestored)
}

// ReusedAt is when a template came back to this revision, and whether one did: an undo (R3).
func (r *Revision) ReusedAt() (time.Time, bool) {
	return r.timeAnnotation(workv1alpha1.AnnotationReused)
}

// AtOnce reports whether the undo to this revision reaches every cluster at once (R12c).
func (r *Revision) AtOnce() bool {
	return r.Object.Annotations[workv1alpha1.AnnotationAtOnce] == "true"
}

// RetriedAt is when a person asked to try this revision again, and whether one did (R4).
func (r *Revision) RetriedAt() (time.Time, bool) {
	return r.timeAnnotation(workv1alpha1.AnnotationRetriedAt)
}

// RetriedAbort returns the time of the abort that a user retried last, and whether the revision records one.
func (r *Revision) RetriedAbort() (time.Time, bool) {
	return r.timeAnnotation(workv1alpha1.AnnotationRetriedAbort)
}

// Began returns when the last rollout of this revision began: when it was created, reused or retried last.
func (r *Revision) Began() time.Time {
	began := r.Object.CreationTimestamp.Time
	for _, at := range []func() (time.Time, bool){r.ReusedAt, r.RetriedAt} {
		if again, ok := at(); ok && again.After(began) {
			began = again
		}
	}
	return began
}

// NextBegin returns when a rollout of this revision begins that begins now: after the revision became the current one last, also when the
// clock went back.
func (r *Revision) NextBegin(now time.Time) time.Time {
	if since, _ := r.CurrentSince(); !now.After(since) {
		return since.Add(time.Nanosecond)
	}
	return now
}

// Reached is the most clusters that had this revision when its rollout was aborted or complete, and whether that is recorded (R25).
func (r *Revision) Reached() (int32, bool) {
	n, err := strconv.ParseInt(r.Object.Annotations[workv1alpha1.AnnotationReached], 10, 32)
	return int32(n), err == nil && n >= 0
}

// CreatedBy is the field manager that owned the template when this revision was created; empty where that is not known (R25).
func (r *Revision) CreatedBy() string {
	return r.Object.Annotations[workv1alpha1.AnnotationCreatedBy]
}

func (r *Revision) timeAnnotation(key string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, r.Object.Annotations[key])
	return at, err == nil
}
