package integration

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

type strategyOption func(*workv1alpha1.RolloutStrategy)

// abortAll enables the automatic abort.
func abortAll(s *workv1alpha1.RolloutStrategy) { s.FailureStrategy = workv1alpha1.AbortAll }

func config(deadline string, maxFailures int) clusterv1alpha1.RolloutConfig {
	return clusterv1alpha1.RolloutConfig{ProgressDeadline: deadline, MaxFailures: intstr.FromInt32(int32(maxFailures))}
}

func all(deadline string, maxFailures int, options ...strategyOption) workv1alpha1.RolloutStrategy {
	s := workv1alpha1.RolloutStrategy{}
	s.Type = clusterv1alpha1.All
	s.All = &clusterv1alpha1.RolloutAll{RolloutConfig: config(deadline, maxFailures)}
	return with(s, options)
}

func progressive(concurrency int, deadline string, maxFailures int, options ...strategyOption) workv1alpha1.RolloutStrategy {
	s := workv1alpha1.RolloutStrategy{}
	s.Type = clusterv1alpha1.Progressive
	s.Progressive = &clusterv1alpha1.RolloutProgressive{
		RolloutConfig: config(deadline, maxFailures), MaxConcurrency: intstr.FromInt32(int32(concurrency)),
	}
	return with(s, options)
}

func perGroup(deadline string, maxFailures int, options ...strategyOption) workv1alpha1.RolloutStrategy {
	s := workv1alpha1.RolloutStrategy{}
	s.Type = clusterv1alpha1.ProgressivePerGroup
	s.ProgressivePerGroup = &clusterv1alpha1.RolloutProgressivePerGroup{RolloutConfig: config(deadline, maxFailures)}
	return with(s, options)
}

func with(s workv1alpha1.RolloutStrategy, options []strategyOption) workv1alpha1.RolloutStrategy {
	for _, option := range options {
		option(&s)
	}
	return s
}

func ref(placement string, strategy workv1alpha1.RolloutStrategy) workv1alpha1.LocalPlacementReference {
	return workv1alpha1.LocalPlacementReference{Name: placement, RolloutStrategy: strategy}
}

// the ManifestWorkReplicaSet
