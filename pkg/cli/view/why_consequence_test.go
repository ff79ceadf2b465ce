package view_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// canary returns a strategy with a deadline of 10m, and AbortAll.
func canary(part clusterv1alpha1.RolloutProgressive) workv1alpha1.RolloutStrategy {
	part.ProgressDeadline = "10m"
	return workv1alpha1.RolloutStrategy{FailureStrategy: workv1alpha1.AbortAll, RolloutStrategy: clusterv1alpha1.RolloutStrategy{
		Type: clusterv1alpha1.Progressive, Progressive: &part,
	}}
}

// told returns the consequence of a failure of c1 that Why predicts one minute after the write. It also returns the reason why c2 waits
// after the deadline of c1, according to the hub's own code.
func told(t *testing.T, o *view.Objects) (says string, hub rollout.Wait) {
	t.Helper()
	o.Now = now.Add(time.Minute)
	story, err := view.Why(o, "c1")
	require.NoError(t, err)
	says = story.Future[len(story.Future)-1].Text
	o.Now = now.Add(11 * time.Minute)
	for _, c := range view.Clusters(o) {
		if c.Name == "c2" {
			hub = c.WaitsFor
		}
	}
	return says, hub
}

// TestWhyInAMandatoryGroup: a mandatory group tolerates no failure.
func TestWhyInAMandatoryGroup(t *testing.T) {
	o := objects(t)
	o.Works = append(o.Works, written(t, "c1", "v2"))
	o.Works = append(o.Works, written(t, "c2", "v1"))
	o.Decisions["p"] = nil
	for index, group := range []struct{ name, cluster string }{{"canary", "c1"}, {"", "c2"}} {
		number := string(rune('0' + index))
		o.Decisions["p"] = append(o.Decisions["p"], &clusterv1beta1.PlacementDecision{
			ObjectMeta: metav1.ObjectMeta{Name: "p-" + number, Labels: map[string]string{
				clusterv1beta1.PlacementLabel: "p", clusterv1beta1.DecisionGroupNameLabel: group.name, clusterv1beta1.DecisionGroupIndexLabel: number,
			}},
			Status: clusterv1beta1.PlacementDecisionStatus{Decisions: []clusterv1beta1.ClusterDecision{{ClusterName: group.cluster}}},
		})
	}
	part := clusterv1alpha1.RolloutProgressive{RolloutConfig: clusterv1alpha1.RolloutConfig{MaxFailures: intstr.FromInt32(2)}}
	part.MandatoryDecisionGroups.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}}
	o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy = canary(part)
	says, hub := told(t, o)
	require.Equal(t, rollout.WaitRollback, hub, "the hub aborts")
	require.NotContains(t, says, "the rollout continues")
}

// TestWhyReadsThePartOfTheType: only the part of the strategy that matches its type applies.
func TestWhyReadsThePartOfTheType(t *testing.T) {
	o := objects(t)
	o.Works = append(o.Works, written(t, "c1", "v2"))
	o.Works = append(o.Works, written(t, "c2", "v1"))
	strategy := canary(clusterv1alpha1.RolloutProgressive{MaxConcurrency: intstr.FromInt32(1)})
	strategy.All = &clusterv1alpha1.RolloutAll{RolloutConfig: clusterv1alpha1.RolloutConfig{MaxFailures: intstr.FromInt32(5)}}
	o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy = strategy
	says, hub := told(t, o)
	require.Equal(t, rollout.WaitRollback, hub, "the hub aborts")
	require.NotContains(t, says, "the rollout continues")
}

// TestForecastOfAnUndo: the hub never aborts an undo automatically.
func TestForecastOfAnUndo(t *testing.T) {
	o := objects(t, complete)
	o.Revisions[1].CreationTimestamp = metav1.NewTime(now.Add(time.Second))
	o.Now = now
	o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy = canary(clusterv1alpha1.RolloutProgressive{MaxConcurrency: intstr.FromInt32(1)})
	next, change, err := view.With(o, withTemplate(o, "v1")) // `plan -f` does the same. The result equals the objects after `undo`.
	require.NoError(t, err)
	require.Equal(t, int64(1), change.Returns)
	next.Works = append(next.Works, written(t, "c1", "v1"))
	next.Works = append(next.Works, written(t, "c2", "v2"))
	ahead, err := view.AheadOf(next)
	require.NoError(t, err)
	says, hub := told(t, next)
	require.Equal(t, rollout.WaitHalt, hub, "the hub stops, and aborts nothing")
	assert.NotContains(t, says, "AbortAll returns every cluster")
	assert.False(t, ahead.Limits[0].AbortAll, "plan prints: returns every cluster to revision "+ahead.Current)
}
