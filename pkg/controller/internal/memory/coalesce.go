package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// reportInterval is how often counts and messages of one ManifestWorkReplicaSet are written at the most: a thousand agents that
// answer within a second are one write. What a person or a program waits for is written at once.
const reportInterval = time.Second

// ReportWait returns how long a status has to wait: it reports progress only, and the last one was written a moment ago. Zero means that it
// is written in this pass, if it changed.
func (m *Told) ReportWait(owner string, stored, wanted *workv1alpha1.ManifestWorkReplicaSetStatus, now time.Time) time.Duration {
	last := m.LastReport(owner)
	if last.IsZero() || !onlyProgress(stored, wanted) || equality.Semantic.DeepEqual(*stored, *wanted) {
		return 0
	}
	wait := last.Add(reportInterval).Sub(now)
	if wait > reportInterval { // The clock went back.
		return 0
	}
	return max(0, wait)
}

// onlyProgress reports whether two statuses differ in counts and messages at the most.
func onlyProgress(stored, wanted *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	if len(stored.Conditions) != len(wanted.Conditions) ||
		!equality.Semantic.DeepEqual(status.RevisionsOf(stored), status.RevisionsOf(wanted)) {
		return false
	}
	for i := range wanted.Conditions {
		if !sameState(&stored.Conditions[i], &wanted.Conditions[i]) {
			return false
		}
	}
	return true
}

func sameState(a, b *metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.ObservedGeneration == b.ObservedGeneration
}
