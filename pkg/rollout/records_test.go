package rollout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestRecords: the facts of a rollout are recorded, with the reason why each cluster failed.
func TestRecords(t *testing.T) {
	ref := rt.Ref("p1", rt.Progressive(4), rt.Deadline("5m"), rt.Clusters("c1", "c2", "c3", "c4", "c5"))
	p := decide(rt.Now(10*minute), rt.Refs(ref), rt.Works(failed("c1"), broken("c2"), inFlight("c3"), old("c4", rt.DeletedAt(3*minute))), rt.Rejected("c5", minute, 10*minute))
	require.Equal(t, map[string]workv1alpha1.FailureReason{
		"c1": workv1alpha1.FailureDeadlineExceeded, "c4": workv1alpha1.FailureTerminationTimedOut, "c5": workv1alpha1.FailureRejected,
	}, reasons(p.Records.Failures))
	require.Empty(t, p.Records.Rejections)
	require.Equal(t, rt.At(10*minute), p.Records.Halted["p1"])

	early := decide(rt.Now(2*minute), rt.Refs(ref), rt.Rejected("c5", minute, 2*minute))
	require.Empty(t, early.Records.Failures)
	require.Equal(t, map[string]workv1alpha1.FailureReason{"c5": workv1alpha1.FailureRejected}, reasons(early.Records.Rejections))
}

func reasons(records map[string]rollout.Failure) map[string]workv1alpha1.FailureReason {
	found := map[string]workv1alpha1.FailureReason{}
	for cluster, record := range records {
		found[cluster] = record.Reason
	}
	return found
}

// TestRecordsAreBounded: the status names at most 100 failed clusters, and keeps those that it already names.
func TestRecordsAreBounded(t *testing.T) {
	var names []string
	var works []work.Work
	for i := range 150 {
		names = append(names, fmt.Sprintf("c%03d", i))
		works = append(works, failed(names[i]))
	}
	ref := rt.Refs(rt.Ref("p1", rt.Deadline("5m"), rt.Clusters(names...)))
	p := decide(rt.Now(10*minute), ref, rt.Works(works...), rt.Recorded("p1", workv1alpha1.FailureDegraded, "c149"))
	require.Len(t, p.Records.Failures, workv1alpha1.MaxFailures)
	require.Equal(t, workv1alpha1.FailureDegraded, p.Records.Failures["c149"].Reason)
	require.NotContains(t, p.Records.Failures, "c140")
}

// TestUnreadableStrategyTakesNoFailureBack: no record changes if an edit makes the spec unreadable and is corrected later.
func TestUnreadableStrategyTakesNoFailureBack(t *testing.T) {
	ref := rt.Refs(rt.Ref("p1", rt.Deadline("5m"), rt.MaxFailures(-1), rt.Clusters("c1", "c2")))
	halted := func(s *rollout.Snapshot) { s.Records.Halted = map[string]time.Time{"p1": rt.At(minute)} }
	p := decide(rt.Now(10*minute), ref, rt.Recorded("p1", workv1alpha1.FailureDegraded, "c1"), halted, rt.Works(inFlight("c1"), old("c2")))
	require.Contains(t, p.Records.Failures, "c1")
	require.Equal(t, rt.At(minute), p.Records.Halted["p1"])
	require.Empty(t, texts(p))
}

// TestLostRecordsStartNothing: until deadlines fire again, it is unknown which clusters had failed.
func TestLostRecordsStartNothing(t *testing.T) {
	ref := rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), rt.Clusters("c1", "c2")))
	lost := func(s *rollout.Snapshot) { s.Records.Lost = true }
	p := decide(rt.Now(10*minute), rt.ConnectedSince(9*minute), ref, lost, rt.Works(old("c1"), old("c2")))
	require.Empty(t, texts(p))
	require.Equal(t, minute, p.Recheck)
	require.NotEmpty(t, p.Records.Halted, "the next pass knows it from the status")
	require.NotEmpty(t, texts(decide(rt.Now(11*minute), rt.ConnectedSince(9*minute), ref, lost, rt.Works(old("c1"), old("c2")))))
}
