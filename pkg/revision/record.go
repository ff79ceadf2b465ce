package revision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Record holds the facts that the hub records about a revision and its rollouts. It is stored as JSON in one annotation of the revision. A
// time is zero if it is unknown. No decision is based on it, except that a revision without a record has never been rolled out.
type Record struct {
	// CreatedBy is the field manager that owned the template when the revision was created.
	CreatedBy string `json:"createdBy,omitempty"`
	// CauseSeen is the owner's change cause when the template returned to the revision; nil if it equals the revision's own change cause.
	CauseSeen *string `json:"causeSeen,omitempty"`
	// Reached is the largest number of clusters that had the revision when its rollout was aborted or complete.
	Reached *int32 `json:"reached,omitempty"`

	// Recorded is the time at which the hub recorded a revision that another hub rolled out. A revision without this time was made from a
	// template.
	Recorded time.Time `json:"recorded,omitzero"`

	// Began is the time at which the last rollout of the revision began; zero if none has begun. Retried is the time at which a user last
	// retried it after an abort.
	Began   time.Time `json:"began,omitzero"`
	Retried time.Time `json:"retried,omitzero"`
	// Ended is the time at which a rollout of the revision was last completed: every selected cluster had the revision. It is zero if no
	// rollout was completed.
	Ended time.Time `json:"ended,omitzero"`
	// Abort is the abort of the last rollout; nil if it was not aborted.
	Abort *Abort `json:"abort,omitempty"`
	// Approvals are the decision groups that users approved in the last rollout, sorted by group.
	Approvals []Approval `json:"approvals,omitempty"`
	// WouldAbort is the abort of the last rollout that failureStrategy ReportAbort did not carry out; nil for none.
	WouldAbort *WouldAbort `json:"wouldAbort,omitempty"`
}

// Approval is a user's approval of a decision group.
type Approval struct {
	// Group is the name of the decision group, or its index as text. By is the user; empty if unknown.
	Group string    `json:"group"`
	By    string    `json:"by,omitempty"`
	At    time.Time `json:"at"`
}

// Abort is the abort of a rollout.
type Abort struct {
	// At is the time at which the rollout was aborted.
	At time.Time `json:"at"`
	// By is the user who aborted the rollout, from status.abortedBy; it may be empty. Said is status.abortReason, as the user set it; records
	// omit it.
	By   string `json:"by,omitempty"`
	Said string `json:"said,omitempty"`
	// Reason is why the rollout was aborted, for a message. Evidence holds the reports of the failed clusters, one line each; it occurs only
	// in records.
	Reason   string   `json:"reason,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	// Restored is the time at which every selected cluster had confirmed the revision to which the abort returned it; zero
	// before that.
	Restored time.Time `json:"restored,omitzero"`
	// Held is the time at which an earlier rollout of the revision was aborted for Reason, if that abort still holds back this rollout; zero
	// otherwise.
	Held time.Time `json:"held,omitzero"`
}

// Why returns the reason for the abort, for messages. The abort may be nil.
func (a *Abort) Why() string {
	if a == nil || a.Held.IsZero() {
		return ptr.Deref(a, Abort{}).Reason
	}
	why := "abortedRevisionPolicy Hold keeps it aborted; its earlier rollout was aborted at " + a.Held.UTC().Format(time.RFC3339)
	if a.Reason != "" {
		why += ": " + a.Reason
	}
	return why
}

// UTC returns a copy with all times in UTC; nil for nil.
func (a *Abort) UTC() *Abort {
	if a == nil {
		return nil
	}
	out := *a
	out.At, out.Restored, out.Held = a.At.UTC(), a.Restored.UTC(), a.Held.UTC()
	return &out
}

// WouldAbort is an abort that AbortAll would have carried out. It is immutable.
type WouldAbort struct {
	// At is the time at which AbortAll would have aborted the rollout, for Reason.
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
	// Clusters is the number of clusters that had the revision at that time.
	Clusters int `json:"clusters"`
}

// Text describes when and why AbortAll would have aborted the rollout, for messages. now is the number of clusters that have the
// revision now.
func (w *WouldAbort) Text(now int) string {
	clusters := fmt.Sprintf("%d clusters", w.Clusters)
	if w.Clusters == 1 {
		clusters = "1 cluster"
	}
	text := fmt.Sprintf("AbortAll would have aborted it at %s with %s on the new version", w.At.UTC().Format(time.RFC3339), clusters)
	if now > w.Clusters {
		text += fmt.Sprintf("; %d more got it since", now-w.Clusters)
	}
	return text + ": " + w.Reason
}

// UTC returns a copy with the time in UTC; nil for nil.
func (w *WouldAbort) UTC() *WouldAbort {
	if w == nil {
		return nil
	}
	out := *w
	out.At = w.At.UTC()
	return &out
}

// ApprovalsInUTC returns a copy with all times in UTC.
func ApprovalsInUTC(approvals []Approval) []Approval {
	out := slices.Clone(approvals)
	for i := range out {
		out[i].At = out[i].At.UTC()
	}
	return out
}

// RecordOf returns the record of a ControllerRevision; empty if it can't be read.
func RecordOf(object *appsv1.ControllerRevision) Record {
	var record Record
	if text := object.Annotations[workv1alpha1.AnnotationRecord]; text == "" || json.Unmarshal([]byte(text), &record) != nil {
		return Record{}
	}
	return record
}

// inUTC converts all times to UTC.
func (r *Record) inUTC() {
	for _, at := range []*time.Time{&r.Recorded, &r.Began, &r.Retried, &r.Ended} {
		*at = at.UTC()
	}
	r.Abort, r.WouldAbort, r.Approvals = r.Abort.UTC(), r.WouldAbort.UTC(), ApprovalsInUTC(r.Approvals)
}

// Encode returns the value of the annotation, with all times in UTC. Equal records give equal values.
func (r *Record) Encode() (string, error) {
	r.inUTC()
	return Encode("the record of a revision", r)
}

// Encode returns a value as JSON, without HTML escapes. what is the name of the value in the error.
func Encode(what string, value any) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("encoding %s: %w", what, err)
	}
	return string(bytes.TrimSuffix(text.Bytes(), []byte("\n"))), nil
}

// Amend changes the record of a ControllerRevision. The caller must not share the object.
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

// Changed returns a changed copy of the record of a revision. The change must replace maps and pointers, and not modify their targets.
func (r *Revision) Changed(change func(*Record)) *Record {
	changed := r.Record
	change(&changed)
	return &changed
}
