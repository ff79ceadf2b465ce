package controller

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

// reportsLater says that a status is not written in this pass: it tells of progress only, and the last one was written a
// moment ago. It asks for the pass that will.
func (m *toldMemory) reportsLater(p *pass, wanted *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	last := m.lastReport(p.key)
	if last.IsZero() || !onlyProgress(&p.object.Status, wanted) || equality.Semantic.DeepEqual(p.object.Status, *wanted) {
		return false
	}
	wait := last.Add(reportInterval).Sub(p.now)
	if wait <= 0 || wait > reportInterval { // It may be that the clock went back.
		return false
	}
	p.lookAgain(wait)
	return true
}

// onlyProgress says that two statuses differ in counts and messages at the most.
func onlyProgress(told, wanted *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	if !equality.Semantic.DeepEqual(status.RevisionsOf(told), status.RevisionsOf(wanted)) || len(told.Conditions) != len(wanted.Conditions) {
		return false
	}
	for i := range wanted.Conditions {
		if !sameState(&told.Conditions[i], &wanted.Conditions[i]) {
			return false
		}
	}
	return true
}

func sameState(a, b *metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.ObservedGeneration == b.ObservedGeneration
}
