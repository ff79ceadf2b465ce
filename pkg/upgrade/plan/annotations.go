package plan

import (
	"encoding/json"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

const (
	keyReused    = workv1alpha1.AnnotationReused
	keyRetriedAt = workv1alpha1.AnnotationRetriedAt
	keySurpassed = workv1alpha1.AnnotationSurpassed
)

// events are the annotations of a revision that record, with a time, what happened to it.
var events = []string{
	workv1alpha1.AnnotationCurrentSince, workv1alpha1.AnnotationSurpassed, workv1alpha1.AnnotationAborted, workv1alpha1.AnnotationRestored,
	workv1alpha1.AnnotationReused, workv1alpha1.AnnotationRetriedAt,
}

// removable are the annotations that the hub removes from a revision when something else happens to it. One of them that is missing may
// have been removed on purpose.
var removable = map[string]bool{
	workv1alpha1.AnnotationCurrentSince: true, workv1alpha1.AnnotationSurpassed: true, workv1alpha1.AnnotationRecordedOn: true,
	workv1alpha1.AnnotationAborted: true, workv1alpha1.AnnotationAbortedBy: true, workv1alpha1.AnnotationAbortReason: true,
	workv1alpha1.AnnotationRestored: true, workv1alpha1.AnnotationCauseSeen: true,
}

// lost are the annotations of a snapshot that a revision lost, or that can't be read any more.
func lost(rev *revision.Revision, kept *revisionSnapshot, surpassed bool) map[string]string {
	moved := false
	for _, key := range events {
		moved = moved || later(rev, kept, key)
	}
	found := map[string]string{}
	for key, value := range kept.Annotations {
		switch live, present := rev.Object.Annotations[key]; {
		case !isOurs(key), !readable(key, value), present && readable(key, live):
		case removable[key] && (moved || surpassed):
		default:
			found[key] = value
		}
	}
	return found
}

// later reports whether a revision records that something happened to it which the snapshot does not have.
func later(rev *revision.Revision, kept *revisionSnapshot, key string) bool {
	value := rev.Object.Annotations[key]
	return value != "" && readable(key, value) && value != kept.Annotations[key]
}

// readable reports whether a value is one that a hub writes.
func readable(key, value string) bool {
	switch key {
	case workv1alpha1.AnnotationDigests:
		ledger := revision.Ledger{}
		return json.Unmarshal([]byte(value), &ledger) == nil && ledger != nil
	case workv1alpha1.AnnotationGeneration:
		_, err := strconv.ParseInt(value, 10, 64)
		return err == nil
	case workv1alpha1.AnnotationRecorded:
		return isTime(value)
	}
	for _, event := range events {
		if key == event {
			return isTime(value)
		}
	}
	return true
}

func isTime(value string) bool {
	_, err := time.Parse(time.RFC3339Nano, value)
	return err == nil
}

// markAborted adds what a revision records of the abort of its rollout, which is restored. Without it the abort would be taken for one by
// hand, and its absence for a retry (R4).
func markAborted(annotations map[string]string, rev *revision.Revision, kept *revisionSnapshot, aborted *metav1.Time) {
	if _, marked := rev.AbortedAt(); marked {
		return
	}
	annotations[workv1alpha1.AnnotationAborted] = aborted.UTC().Format(time.RFC3339Nano)
	for _, key := range []string{workv1alpha1.AnnotationAborted, workv1alpha1.AnnotationAbortReason} {
		if value := kept.Annotations[key]; value != "" && readable(key, value) {
			annotations[key] = value
		}
	}
}
