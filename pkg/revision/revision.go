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

// Revision is a decoded ControllerRevision.
type Revision struct {
	// Object is the ControllerRevision. It is shared with the cache, and must not be changed.
	Object *appsv1.ControllerRevision
	// Hash is the value of its label controller-hash.
	Hash string
	// Template is the template that it holds; nil if Err is set.
	Template *workv1.ManifestWorkSpec
	// Digest identifies the content of the template; empty if Err is set.
	Digest Digest
	// ReportsDegraded is true if every agent reports Degraded for it (R10).
	ReportsDegraded bool
	// BeginSeen is when this process first saw the last undo to the revision or the last retry of it, or the recorded time if that is earlier;
	// zero if nothing tracked it (R10).
	BeginSeen time.Time
	// Err is the reason why the data can't be read.
	Err error
}

// data is the shape of a revision's data (R2).
type data struct {
	Spec struct {
		ManifestWorkTemplate *workv1.ManifestWorkSpec `json:"manifestWorkTemplate"`
	} `json:"spec"`
}

// Decode reads a ControllerRevision. If it can't be read, Err has the reason, in terms of the object.
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

// Name returns the only name under which a revision with this hash counts (R2).
func Name(owner, hash string) string {
	return owner + "-" + hash
}

// New returns the ControllerRevision for a template of an owner (R2).
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

// CurrentSince returns the time when this revision became the current one, and whether it ever did (R16).
func (r *Revision) CurrentSince() (time.Time, bool) {
	return r.timeAnnotation(workv1alpha1.AnnotationCurrentSince)
}

// WasCurrent reports whether this revision is, or was, the current one, even if another hub has rolled out a newer one since (R16).
func (r *Revision) WasCurrent() bool {
	_, current := r.CurrentSince()
	_, surpassed := r.SurpassedAt()
	return current || surpassed
}

// SurpassedAt returns the time when this hub found that another hub had rolled out a newer revision than this one, which was current, and
// whether that happened (R6).
func (r *Revision) SurpassedAt() (time.Time, bool) {
	return r.timeAnnotation(workv1alpha1.AnnotationSurpassed)
}

// Recorded reports whether another hub rolled this revision out, and this one recorded it from the works (R6).
func (r *Revision) Recorded() bool {
	_, recorded := r.timeAnnotation(workv1alpha1.AnnotationRecorded)
	return recorded
}

// RecordedOn returns the only cluster that was known to have this revision when it became the current one; empty if there were more (R6).
func (r *Revision) RecordedOn() string {
	return r.Object.Annotations[workv1alpha1.AnnotationRecordedOn]
}

// AbortedAt returns the time when the rollout of this revision was aborted, and whether it was (R16).
func (r *Revision) AbortedAt() (time.Time, bool) {
	return r.timeAnnotation(workv1alpha1.AnnotationAborted)
}

// Restored reports whether, after this revision's rollout was aborted, every cluster has confirmed the restored revision.
func (r *Revision) Restored() bool {
	_, restored := r.RestoredAt()
	return restored
}

// RestoredAt returns the time of that confirmation.
func (r *Revision) RestoredAt() (time.Time, bool) {
	return r.timeAnnotation(workv1alpha1.AnnotationRestored)
}

// ReusedAt returns the time of the last undo to this revision, and whether there was one (R3).
func (r *Revision) ReusedAt() (time.Time, bool) {
	return r.timeAnnotation(workv1alpha1.AnnotationReused)
}

// AtOnce reports whether the undo to this revision reaches every cluster at once (R12c).
func (r *Revision) AtOnce() bool {
	return r.Object.Annotations[workv1alpha1.AnnotationAtOnce] == "true"
}

// RetriedAt returns the time when a user retried this revision, and whether one did (R4).
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

// NextBegin returns the time to record for a rollout of this revision that begins now: later than the time when the revision last became
// current, even if the clock was set back.
func (r *Revision) NextBegin(now time.Time) time.Time {
	if since, _ := r.CurrentSince(); !now.After(since) {
		return since.Add(time.Nanosecond)
	}
	return now
}

// Reached returns the largest number of clusters that had this revision when its rollout was aborted or complete, and whether that is
// recorded (R25).
func (r *Revision) Reached() (int32, bool) {
	n, err := strconv.ParseInt(r.Object.Annotations[workv1alpha1.AnnotationReached], 10, 32)
	return int32(n), err == nil && n >= 0
}

// CreatedBy returns the field manager that owned the template when this revision was created; empty if unknown (R25).
func (r *Revision) CreatedBy() string {
	return r.Object.Annotations[workv1alpha1.AnnotationCreatedBy]
}

func (r *Revision) timeAnnotation(key string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, r.Object.Annotations[key])
	return at, err == nil
}
