package revision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Record is what the hub records on a revision about it and its rollouts, as JSON in one annotation. A time that is not known is zero.
// Several of the times show an order even if a clock was set back, so they have nanoseconds.
type Record struct {
	// CreatedBy is the field manager that owned the template when the revision was created (R25).
	CreatedBy string `json:"createdBy,omitempty"`
	// CauseSeen is the change cause of the owner when the template returned to the revision, if the revision has another one of its own (R25).
	CauseSeen *string `json:"causeSeen,omitempty"`
	// Reached is the largest number of clusters that had the revision when its rollout was aborted or complete (R25).
	Reached *int32 `json:"reached,omitempty"`

	// Recorded is when the hub recorded a revision that another hub rolled out. A revision without it was made from a template (R6).
	Recorded time.Time `json:"recorded,omitzero"`
	// RecordedOn is the only cluster that had a recorded revision when it became the current one: no other cluster goes back to the revision
	// until a rollout of it was complete (R6).
	RecordedOn string `json:"recordedOn,omitempty"`
	// FirstCreated is when the revision was created first, if its template returned after the history limit had deleted it (R12).
	FirstCreated time.Time `json:"firstCreated,omitzero"`

	// CurrentSince is when the revision became the current one. The revision with the latest time is the current revision (R16).
	CurrentSince time.Time `json:"currentSince,omitzero"`
	// Surpassed is when this hub found that another one had rolled out past the revision, which was current. It replaces CurrentSince (R6).
	Surpassed time.Time `json:"surpassed,omitzero"`

	// Reused is when the template came back to the revision last (R3). A rollout of it begins then.
	Reused time.Time `json:"reused,omitzero"`
	// AtOnce is true if the template came back within spec.rollbackWindow: the undo reaches every cluster at once. An abort of that undo
	// removes it (R12c).
	AtOnce bool `json:"atOnce,omitempty"`
	// Retried is when somebody retried the rollout last, and RetriedAbort the time of the abort that was retried. A status that still has this
	// abort is older than the revision (R4).
	Retried      time.Time `json:"retried,omitzero"`
	RetriedAbort time.Time `json:"retriedAbort,omitzero"`

	// Abort is the abort of the last rollout; nil if it was not aborted (R16).
	Abort *Abort `json:"abort,omitempty"`

	// Others is what the revision records about other revisions, by hash (R12).
	Others Ledger `json:"others,omitzero"`
	// Settings are the fields of the owner's spec that an older CRD drops; nil for none. Only the newest revision has them.
	Settings *Settings `json:"settings,omitempty"`
}

// Abort is the abort of a rollout.
type Abort struct {
	// At is when the rollout was aborted.
	At time.Time `json:"at"`
	// By is who aborted it by hand; empty if nobody did or if that is unknown.
	By string `json:"by,omitempty"`
	// Reason is why the rollout was aborted, and Evidence what the failed clusters reported, a line each.
	Reason   string   `json:"reason,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	// Restored is when every selected cluster had confirmed the revision that it was brought back to.
	Restored time.Time `json:"restored,omitzero"`
}

// RecordOf returns the record of a ControllerRevision. One that can't be read is empty.
func RecordOf(object *appsv1.ControllerRevision) Record {
	var record Record
	if text := object.Annotations[workv1alpha1.AnnotationRecord]; text == "" || json.Unmarshal([]byte(text), &record) != nil {
		return Record{}
	}
	return record
}

// inUTC sets the location of all times.
func (r *Record) inUTC() {
	for _, at := range []*time.Time{
		&r.Recorded, &r.FirstCreated, &r.CurrentSince, &r.Surpassed, &r.Reused, &r.Retried, &r.RetriedAbort,
	} {
		*at = at.UTC()
	}
	if r.Abort != nil {
		abort := *r.Abort
		abort.At, abort.Restored = abort.At.UTC(), abort.Restored.UTC()
		r.Abort = &abort
	}
}

// Encode returns the value of the annotation, with all times in UTC. Equal records give equal values.
func (r *Record) Encode() (string, error) {
	var text bytes.Buffer
	r.inUTC()
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		return "", fmt.Errorf("encoding the record of a revision: %w", err)
	}
	return string(bytes.TrimSuffix(text.Bytes(), []byte("\n"))), nil
}

// Amend changes the record of a ControllerRevision that is not shared.
func Amend(object *appsv1.ControllerRevision, change func(*Record)) error {
	record := RecordOf(object)
	change(&record)
	text, err := record.Encode()
	if err != nil {
		return err
	}
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	object.Annotations[workv1alpha1.AnnotationRecord] = text
	return nil
}

// Changed returns the record of a revision with a change. The change must replace maps and pointers, and not what they refer to.
func (r *Revision) Changed(change func(*Record)) *Record {
	changed := r.Record
	change(&changed)
	return &changed
}
