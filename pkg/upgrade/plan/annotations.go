package plan

import (
	"encoding/json"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// record returns the record of a revision in the snapshot; empty if it can't be read.
func (s *revisionSnapshot) record() revision.Record {
	var record revision.Record
	if json.Unmarshal([]byte(s.Annotations[workv1alpha1.AnnotationRecord]), &record) != nil {
		return revision.Record{}
	}
	return record
}

// later reports whether a revision has the time of an event that the snapshot does not have.
func later(live, kept time.Time) bool { return !live.IsZero() && !live.Equal(kept) }

// lost returns the annotations of a snapshot that a revision lost, or that can't be read any more. If moved is true, there may have been
// later events: the fields that such events remove from the record are not restored.
func lost(rev *revision.Revision, kept *revisionSnapshot, moved bool) map[string]string {
	found := map[string]string{}
	for key, value := range kept.Annotations {
		switch live, present := rev.Object.Annotations[key]; {
		case !isOurs(key), !readable(key, value), present && readable(key, live):
		case key == workv1alpha1.AnnotationRecord && moved:
			record := kept.record()
			record.CurrentSince, record.Surpassed, record.RecordedOn = time.Time{}, time.Time{}, ""
			record.Abort, record.CauseSeen = nil, nil
			set(found, &record)
		default:
			found[key] = value
		}
	}
	return found
}

// readable reports whether a value is one that a hub writes.
func readable(key, value string) bool {
	switch key {
	case workv1alpha1.AnnotationRecord:
		return value != "" && json.Unmarshal([]byte(value), &revision.Record{}) == nil
	case workv1alpha1.AnnotationGeneration:
		_, err := strconv.ParseInt(value, 10, 64)
		return err == nil
	}
	return true
}

// set sets the annotation for a record. A record that was read can be encoded.
func set(annotations map[string]string, record *revision.Record) {
	if text, err := record.Encode(); err == nil {
		annotations[workv1alpha1.AnnotationRecord] = text
	}
}

// markAborted adds what a revision records of the abort of its rollout, which is restored. Without it the abort would be taken for one by
// hand, and its absence for a retry.
func markAborted(annotations map[string]string, rev *revision.Revision, kept *revisionSnapshot, aborted *metav1.Time) {
	if rev.Abort != nil {
		return
	}
	record := rev.Record
	if text, restored := annotations[workv1alpha1.AnnotationRecord]; restored {
		record = (&revisionSnapshot{Annotations: map[string]string{workv1alpha1.AnnotationRecord: text}}).record()
	}
	if record.Abort = kept.record().Abort; record.Abort == nil {
		record.Abort = &revision.Abort{At: aborted.Time}
	}
	set(annotations, &record)
}
