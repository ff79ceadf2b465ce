package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// canary turns a cluster into the decision group canary of a real fleet's Placement.
func (f *realFleet) canary(short string) {
	f.t.Helper()
	ctx, clusters := f.t.Context(), f.w.clusters.ClusterV1().ManagedClusters()
	cluster, err := clusters.Get(ctx, f.cluster(short), metav1.GetOptions{})
	require.NoError(f.t, err)
	metav1.SetMetaDataLabel(&cluster.ObjectMeta, "ring", "canary")
	_, err = clusters.Update(ctx, cluster, metav1.UpdateOptions{})
	require.NoError(f.t, err)
	placements := f.w.clusters.ClusterV1beta1().Placements(f.namespace)
	placement, err := placements.Get(ctx, "p1", metav1.GetOptions{})
	require.NoError(f.t, err)
	placement.Spec.DecisionStrategy.GroupStrategy.DecisionGroups = []clusterv1beta1.DecisionGroup{{
		GroupName:       "canary",
		ClusterSelector: clusterv1beta1.GroupClusterSelector{LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"ring": "canary"}}},
	}}
	_, err = placements.Update(ctx, placement, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

// OCM's placement controller creates a canary group. The group gets a new revision first, and bakes before the other cluster gets it. The
// API server rejects an invalid list, and a wrong group name does not skip the canary.
func TestGateRings(t *testing.T) {
	t.Parallel()
	const bake = 8 * time.Second
	f := newRealFleet(t, "rings")
	f.canary("c2")
	first := ref("p1", progressive(2, "20s", 0, abortAll))
	first.RolloutStrategy.Groups = []workv1alpha1.RolloutGroup{{GroupName: "canary", BakeTime: &metav1.Duration{Duration: bake}}}
	f.creates(first)

	f.roll("v2", true)
	f.says(workv1alpha1.ConditionProgressing, workv1alpha1.ReasonNewRevisionCreated, "group canary of Placement p1 bakes until")
	f.deploys(map[string]string{"c1": "v1", "c2": "v2"})
	f.complete()
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	baked := f.ledger().Baking["p1/canary"]
	require.True(t, baked.After(f.writtenAt("c2", "v2")))
	require.GreaterOrEqual(t, f.writtenAt("c1", "v2").Sub(baked), bake)

	group := func(change func(*workv1alpha1.RolloutGroup)) {
		f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
			change(&mwrs.Spec.PlacementRefs[0].RolloutStrategy.Groups[0])
		})
	}
	group(func(g *workv1alpha1.RolloutGroup) { g.GroupName = "canari" })
	f.roll("v3", true)
	f.says(workv1alpha1.ConditionProgressing, workv1alpha1.ReasonNewRevisionCreated, "group canari of Placement p1 waits: no PlacementDecision has this group")
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	group(func(g *workv1alpha1.RolloutGroup) { g.GroupName = "canary" })
	f.complete()
	f.deploys(map[string]string{"c1": "v3", "c2": "v3"})

	for message, bad := range map[string]workv1alpha1.RolloutGroup{
		"set either groupName or groupIndex":      {GroupName: "canary", GroupIndex: ptr.To[int32](0)},
		"use a duration from 0s to 720h":          {GroupName: "canary", BakeTime: &metav1.Duration{Duration: 721 * time.Hour}},
		"groups[0].bakeTime in body should match": {GroupName: "canary", BakeTime: &metav1.Duration{Duration: -time.Hour}},
	} {
		mwrs := f.get()
		mwrs.Spec.PlacementRefs[0].RolloutStrategy.Groups[0] = bad
		_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Update(t.Context(), mwrs, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		require.ErrorContains(t, err, message)
	}
}
