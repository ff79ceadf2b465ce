package forecast_test

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// progressive returns the input of a Progressive rollout over a fleet, with AbortAll and a rule for Progressing.
func progressive(clusters int, concurrency, maxFailures string, deadline string) *forecast.Input {
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	set.Namespace, set.Name = "default", "web"
	strategy := workv1alpha1.RolloutStrategy{FailureStrategy: workv1alpha1.AbortAll}
	strategy.Type = clusterv1alpha1.Progressive
	strategy.Progressive = &clusterv1alpha1.RolloutProgressive{
		RolloutConfig:  clusterv1alpha1.RolloutConfig{ProgressDeadline: deadline, MaxFailures: intstr.Parse(maxFailures)},
		MaxConcurrency: intstr.Parse(concurrency),
	}
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "production", RolloutStrategy: strategy}}
	return &forecast.Input{
		ReplicaSet: set,
		Placements: map[string]*placement.Placement{"production": forecast.Clusters("production", forecast.Group{Size: clusters})},
		Agents:     forecast.Agents{Apply: time.Minute, Spread: 0.5, SlowFactor: 5},
		Rules:      forecast.Rules{Progressing: true},
		Seed:       1,
	}
}
