package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// notesKept is the maximum number of remembered notes of one owner. Each note names revisions or objects, so many
// accumulate over time. At the maximum, all are forgotten, and a note that still applies is reported again.
const notesKept = 100

// Announce reports whether a note is new to this process, and remembers it. If several callers announce the same note,
// only one of them gets true.
func (o *Owner) Announce(note string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.notes.Has(note) {
		return false
	}
	if len(o.notes) >= notesKept || o.notes == nil {
		o.notes = sets.New[string]()
	}
	o.notes.Insert(note)
	return true
}

// reportInterval is the minimum time between two writes of the counts and messages of one ManifestWorkReplicaSet. A
// thousand agents that report within a second lead to one write. Changes that a user or a program waits for are written
// at once.
const reportInterval = time.Second

// ReportWait returns how long the write of a status must wait, because the status reports only progress and the last
// status was just written. Zero means that this pass writes the status, if it changed.
func (o *Owner) ReportWait(stored, wanted *workv1alpha1.ManifestWorkReplicaSetStatus, now time.Time) time.Duration {
	if !lately(o.ReportedAt, now, reportInterval) || !onlyProgress(stored, wanted) || equality.Semantic.DeepEqual(*stored, *wanted) {
		return 0
	}
	return o.ReportedAt.Add(reportInterval).Sub(now)
}

// onlyProgress reports whether two statuses differ at most in counts and messages.
func onlyProgress(stored, wanted *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	if len(stored.Conditions) != len(wanted.Conditions) ||
		stored.Ledger != wanted.Ledger || decides(stored) != decides(wanted) ||
		!equality.Semantic.DeepEqual(stored.Failures, wanted.Failures) || !equality.Semantic.DeepEqual(stored.AbortedTime, wanted.AbortedTime) {
		return false
	}
	for i := range wanted.Conditions {
		if !sameState(&stored.Conditions[i], &wanted.Conditions[i]) {
			return false
		}
	}
	return true
}

// decides returns the fields of a status that name revisions.
func decides(s *workv1alpha1.ManifestWorkReplicaSetStatus) [2]string {
	return [2]string{s.CurrentRevision, s.UpdateRevision}
}

func sameState(a, b *metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.ObservedGeneration == b.ObservedGeneration
}
