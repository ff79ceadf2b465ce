package view_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// rings returns a rollout to the group a with c1 and the group b with c2. Its strategy lists the given groups.
func rings(t *testing.T, groups ...workv1alpha1.RolloutGroup) *view.Objects {
	return objects(t, func(o *view.Objects) {
		strategy := &o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy
		strategy.Type, strategy.Groups = clusterv1alpha1.Progressive, groups
		strategy.Progressive = &clusterv1alpha1.RolloutProgressive{MaxConcurrency: intstr.FromInt32(2)}
		o.Decisions["p"] = nil
		for i, name := range []string{"a", "b"} {
			decision := &clusterv1beta1.PlacementDecision{}
			decision.Labels = map[string]string{
				clusterv1beta1.DecisionGroupIndexLabel: string(rune('0' + i)), clusterv1beta1.DecisionGroupNameLabel: name,
			}
			decision.Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: []string{"c1", "c2"}[i]}}
			o.Decisions["p"] = append(o.Decisions["p"], decision)
		}
		o.Works = []work.Work{reporting(written(t, "c1", "v2"), now.Add(10*time.Minute), healthy), reporting(written(t, "c2", "v1"), now, healthy)}
	})
}

// TestWhyOfRings: why and plan name the group that a cluster waits for, and the event that ends the wait.
func TestWhyOfRings(t *testing.T) {
	for name, tc := range map[string]struct {
		groups []workv1alpha1.RolloutGroup
		waits  rollout.Wait
		text   string
	}{
		"an approval": {[]workv1alpha1.RolloutGroup{rt.Ring("a"), rt.Ring("b", workv1alpha1.ApprovalRequired)}, rollout.WaitApproval,
			"group b of Placement p waits for its approval: kubectl mwrs approve web --group b -n default"},
		"a bakeTime": {[]workv1alpha1.RolloutGroup{rt.Ring("a", 3*time.Hour)}, rollout.WaitBake, "group a of Placement p bakes until "},
		"a missing group": {[]workv1alpha1.RolloutGroup{rt.Ring("x")}, rollout.WaitGroup,
			"group x of Placement p waits: no PlacementDecision has this group"},
	} {
		t.Run(name, func(t *testing.T) {
			o := rings(t, tc.groups...)
			story, err := view.Why(o, "c2")
			require.NoError(t, err)
			require.Equal(t, tc.waits, story.Cluster.WaitsFor)
			require.Contains(t, texts(story.Future), tc.text)
			ahead, err := view.AheadOf(o)
			require.NoError(t, err)
			require.Len(t, ahead.Notes, 1)
			require.Contains(t, ahead.Notes[0], tc.text)
		})
	}
}

// TestPlanOfAFile: the hub does not know the rollout that a file would begin, so its groups wait only later. A plan also names the later
// approvals and bakeTimes.
func TestPlanOfAFile(t *testing.T) {
	o := rings(t, rt.Ring("a", workv1alpha1.ApprovalRequired, time.Hour), rt.Ring("b", workv1alpha1.ApprovalRequired, time.Minute))
	next, _, err := view.With(o, withTemplate(o, "v3"))
	require.NoError(t, err)
	ahead, err := view.AheadOf(next)
	require.NoError(t, err)
	require.Equal(t, []string{
		"once it is applied, group a of Placement p waits for its approval: kubectl mwrs approve web --group a -n default",
		"group a of Placement p bakes for 1h0m0s after its last success",
		"group b of Placement p waits for an approval before it begins, and bakes for 1m0s after its last success",
	}, ahead.Notes)
}

// TestSkippedCluster: a skipped cluster is in no wave, and has the reason why it waits, even if only its ManagedCluster shows that it is
// unavailable.
func TestSkippedCluster(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.UnavailableClusters = workv1alpha1.SkipUnavailable
		o.Unavailable = placement.Clusters{"c2": {UnavailableSince: now}}
	})
	ahead, err := view.AheadOf(o)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"c1"}}, [][]string{ahead.Waves[0].Parts[0].Clusters})
	require.Equal(t, "unavailable and skipped until it has been available for a minute", view.Clusters(o)[0].Message)
	story, err := view.Why(o, "c2")
	require.NoError(t, err)
	require.Contains(t, texts(story.Future), "waits for the cluster to be available for a minute, and then for its turn")
}

// TestWhyValidating: why names the success gate that a cluster waits for.
func TestWhyValidating(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.SuccessGates = []workv1alpha1.SuccessGate{{ConditionType: "SmokePassed"}}
		o.Works = []work.Work{reporting(written(t, "c1", "v2"), now.Add(10*time.Minute), healthy), written(t, "c2", "v1")}
	})
	story, err := view.Why(o, "c1")
	require.NoError(t, err)
	require.Equal(t, rollout.PhaseValidating, story.Cluster.State)
	require.Contains(t, texts(story.Future), "the ManifestWork has no condition SmokePassed for its generation 1")
}

// TestWhyClosed: no assumption about the hub's watch is made about a cluster that waits for its window.
func TestWhyClosed(t *testing.T) {
	o := objects(t)
	o.Holds = map[string]placement.Hold{"c1": {Opens: o.Now.Add(time.Hour)}}
	story, err := view.Why(o, "c1")
	require.NoError(t, err)
	require.Equal(t, rollout.PhaseWaiting, story.Cluster.Then)
	require.Empty(t, story.Assumed)
}

func texts(facts []view.Fact) (all string) {
	for _, fact := range facts {
		all += fact.Text + "\n"
	}
	return all
}

// TestThenOfAMissingGroup: the screens announce when a missing group stalls the rollout.
func TestThenOfAMissingGroup(t *testing.T) {
	o := rings(t, rt.Ring("x"))
	l := ledger.FromStatus(&o.ReplicaSet.Status)
	l.Format, l.Seq, l.Owner = ledger.Format, 1, o.ReplicaSet.UID
	l.Begin(l.Update, ledger.New, o.Now.Add(-4*time.Minute), false)
	encoded, err := l.Encode()
	require.NoError(t, err)
	o.ReplicaSet.Status.Ledger = encoded
	require.Equal(t, []string{"6m0s: group x of Placement p is still missing: the rollout is stalled"}, textsOf(o, view.FleetOf(o).Then))
}
