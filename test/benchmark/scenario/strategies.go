package scenario

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

func all() workv1alpha1.RolloutStrategy {
	s := workv1alpha1.RolloutStrategy{}
	s.Type = clusterv1alpha1.All
	s.All = &clusterv1alpha1.RolloutAll{RolloutConfig: clusterv1alpha1.RolloutConfig{ProgressDeadline: "None"}}
	return s
}

// allOrAbort returns a strategy that aborts when more than one cluster has not succeeded within the deadline.
func allOrAbort(deadline time.Duration) workv1alpha1.RolloutStrategy {
	s := all()
	s.All.ProgressDeadline = deadline.String()
	s.All.MaxFailures = intstr.FromInt32(1)
	s.FailureStrategy = workv1alpha1.AbortAll
	return s
}

// percent returns a strategy with a percentage of the clusters at a time. Both controllers round it up.
func percent(concurrency int) workv1alpha1.RolloutStrategy {
	s := workv1alpha1.RolloutStrategy{}
	s.Type = clusterv1alpha1.Progressive
	s.Progressive = &clusterv1alpha1.RolloutProgressive{
		RolloutConfig:  clusterv1alpha1.RolloutConfig{ProgressDeadline: "None"},
		MaxConcurrency: intstr.FromString(fmt.Sprintf("%d%%", concurrency)),
	}
	return s
}

// share returns the number of clusters for a percentage of n.
func share(concurrency, n int) int { return (n*concurrency + 99) / 100 }

// complete returns a check that the status reports that n clusters have the newest template. Both controllers report this in the same way.
func complete(n int) func(*workv1alpha1.ManifestWorkReplicaSet) error {
	return func(object *workv1alpha1.ManifestWorkReplicaSet) error {
		status := &object.Status
		if meta.IsStatusConditionTrue(status.Conditions, workv1alpha1.ConditionPlacementRolledOut) &&
			status.Summary.Total == n && status.Summary.Available == n && status.Summary.Progressing == 0 {
			return nil
		}
		return fmt.Errorf("%s is not complete: %+v %s", object.Name, status.Summary, describe(object))
	}
}

// aborted returns an error unless the status reports that every work was restored.
func aborted(object *workv1alpha1.ManifestWorkReplicaSet) error {
	progressing := meta.FindStatusCondition(object.Status.Conditions, workv1alpha1.ConditionProgressing)
	if progressing != nil && progressing.Reason == workv1alpha1.ReasonRolloutAborted {
		return nil
	}
	return fmt.Errorf("%s is not aborted: %s", object.Name, describe(object))
}

func describe(object *workv1alpha1.ManifestWorkReplicaSet) string {
	text := ""
	for _, c := range object.Status.Conditions {
		text += fmt.Sprintf("; %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}
