package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

func progressive(placement string, concurrency int32, deadline string, maxFailures int32, abort bool) workv1alpha1.LocalPlacementReference {
	ref := workv1alpha1.LocalPlacementReference{Name: placement}
	ref.RolloutStrategy.Type = clusterv1alpha1.Progressive
	ref.RolloutStrategy.Progressive = &clusterv1alpha1.RolloutProgressive{
		RolloutConfig:  clusterv1alpha1.RolloutConfig{ProgressDeadline: deadline, MaxFailures: intstr.FromInt32(maxFailures)},
		MaxConcurrency: intstr.FromInt32(concurrency),
	}
	if abort {
		ref.RolloutStrategy.FailureStrategy = workv1alpha1.AbortAll
	}
	return ref
}

func TestAbortStory(t *testing.T) {
	w := NewWorld()
	w.Place("p1", []string{"c1", "c2", "c3"})
	w.Create("v1", progressive("p1", 1, "30s", 0, true))
	require.NoError(t, w.Settle(Forever))
	w.Report("", "v2", Hangs)
	w.Update("v2")
	require.NoError(t, w.Settle(Forever))
	t.Log("\n" + strings.Join(w.Story, "\n"))
	require.NotNil(t, w.Object().Status.AbortedTime)
	for _, work := range w.Works() {
		require.Equal(t, "v1", Version(work))
	}
	_ = time.Second
}
