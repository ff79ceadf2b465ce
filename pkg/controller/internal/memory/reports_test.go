package memory

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

func reportedStatus() workv1alpha1.ManifestWorkReplicaSetStatus {
	return workv1alpha1.ManifestWorkReplicaSetStatus{
		UpdateRevision: "b",
		Conditions: []metav1.Condition{{
			Type: workv1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: "NewRevisionCreated", Message: "3 of 9", ObservedGeneration: 2,
		}},
	}
}

// Counts and messages are written at most once per second. Everything else is written at once.
func TestProgressIsReportedOnceInAWhile(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, test := range map[string]struct {
		change func(*workv1alpha1.ManifestWorkReplicaSetStatus)
		since  time.Duration
		later  time.Duration
	}{
		"counts":    {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) { s.Summary.Applied = 5 }, 300 * time.Millisecond, 700 * time.Millisecond},
		"a message": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) { s.Conditions[0].Message = "4 of 9" }, 0, time.Second},
		"revisions": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) {
			s.Revisions = []workv1alpha1.RevisionStatus{{Name: "web-b", Clusters: 5}}
		}, 0, time.Second},
		"counts, after a second":         {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) { s.Summary.Applied = 5 }, time.Second, 0},
		"counts, the clock was set back": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) { s.Summary.Applied = 5 }, -time.Minute, 0},
		"nothing":                        {func(*workv1alpha1.ManifestWorkReplicaSetStatus) {}, 0, 0},
		"a reason":                       {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) { s.Conditions[0].Reason = "RolloutAborted" }, 0, 0},
		"a status":                       {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) { s.Conditions[0].Status = metav1.ConditionFalse }, 0, 0},
		"another generation":             {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) { s.Conditions[0].ObservedGeneration = 3 }, 0, 0},
		"another condition": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) {
			s.Conditions = append(s.Conditions, s.Conditions[0])
		}, 0, 0},
		"another current revision": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) { s.CurrentRevision = "b" }, 0, 0},
		"an abort, and counts of it": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) {
			s.AbortedTime = &metav1.Time{Time: now}
			s.Summary.Applied = 5
		}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := &Owner{}
			m.ReportedAt = now.Add(-test.since)
			wanted := reportedStatus()
			test.change(&wanted)
			stored := reportedStatus()
			require.Equal(t, test.later, m.ReportWait(&stored, &wanted, now))
		})
	}
	m := &Owner{}
	wanted := reportedStatus()
	wanted.Summary.Applied = 5
	stored := reportedStatus()
	require.Zero(t, m.ReportWait(&stored, &wanted, now), "the first report from a process is written at once")
}

// A process announces many notes during its lifetime, for example notes that name revisions. The memory of them is bounded.
func TestNotesAreBounded(t *testing.T) {
	reports := &Owner{}
	for i := range 10 * notesKept {
		require.True(t, reports.Announce(strconv.Itoa(i)))
		require.False(t, reports.Announce(strconv.Itoa(i)))
	}
	require.LessOrEqual(t, len(reports.notes), notesKept)
}
