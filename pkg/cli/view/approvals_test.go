package view_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"github.com/open-cluster-management-io/work-rollback/internal/fleettest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// approvalObjects returns the objects of a rollout in which the groups canary and 0 require approvals. Group 0 has all clusters, and waits.
func approvalObjects() *view.Objects {
	o := fleettest.Objects(5, now)
	set := o.ReplicaSet
	set.Spec.PlacementRefs[0].RolloutStrategy.Type = clusterv1alpha1.Progressive
	set.Spec.PlacementRefs[0].RolloutStrategy.Progressive = &clusterv1alpha1.RolloutProgressive{}
	set.Spec.PlacementRefs[0].RolloutStrategy.Groups = []workv1alpha1.RolloutGroup{
		{GroupName: "canary", Approval: workv1alpha1.ApprovalRequired}, {GroupIndex: ptr.To[int32](0), Approval: workv1alpha1.ApprovalRequired},
		{GroupName: "stores"},
	}
	set.Status.CurrentRevision, set.Status.State = "older", workv1alpha1.StateRollingOut
	set.Status.Revisions = []workv1alpha1.RevisionStatus{{
		Hash: set.Status.UpdateRevision, Revision: 1, State: workv1alpha1.RevisionProgressing, ChangeCause: "v2", CreatedBy: "argocd",
	}, {Hash: "older"}}
	set.Status.Approvals = []workv1alpha1.Approval{{
		Group: "canary", Revision: set.Status.UpdateRevision, By: "alice", At: metav1.NewTime(now.Add(-time.Minute)),
	}}
	set.Status.AwaitingApproval = []string{"0"}
	return o
}

// Without a name, only the waiting group is approved. A named group is approved only if it requires an approval.
func TestApprovable(t *testing.T) {
	for name, tc := range map[string]struct {
		group  string
		change func(*workv1alpha1.ManifestWorkReplicaSet)
		want   string
		err    string
	}{
		"the one that waits": {want: "0"},
		"by its name":        {group: "0", want: "0"},
		"before its turn":    {group: "0", want: "0", change: func(s *workv1alpha1.ManifestWorkReplicaSet) { s.Status.AwaitingApproval = nil }},
		"approved already":   {group: "canary", err: "group canary was approved by alice at "},
		"it needs none":      {group: "stores", err: `group "stores" of "web" needs no approval; groups that need one: 0`},
		"none waits":         {err: `no group of "web" waits for an approval; groups that will need one: 0`, change: func(s *workv1alpha1.ManifestWorkReplicaSet) { s.Status.AwaitingApproval = nil }},
		"none needs approvals": {err: `no group of "web" waits for an approval; groups that will need one: none`, change: func(s *workv1alpha1.ManifestWorkReplicaSet) {
			s.Status.AwaitingApproval, s.Spec.PlacementRefs = nil, nil
		}},
		"several wait": {err: `several groups of "web" wait for an approval: 0, canary; name one with --group`, change: func(s *workv1alpha1.ManifestWorkReplicaSet) {
			s.Status.AwaitingApproval, s.Status.Approvals = []string{"0", "canary"}, nil
		}},
		"aborted":  {group: "0", err: "was aborted", change: func(s *workv1alpha1.ManifestWorkReplicaSet) { s.Status.AbortedTime = ptr.To(metav1.NewTime(now)) }},
		"complete": {group: "0", err: "is complete", change: func(s *workv1alpha1.ManifestWorkReplicaSet) { s.Status.State = workv1alpha1.StateComplete }},
		"without a ledger": {group: "0", err: "the hub accepts no commands", change: func(s *workv1alpha1.ManifestWorkReplicaSet) {
			s.Status.Ledger, s.Status.Conditions = "", []metav1.Condition{{Type: workv1alpha1.ConditionProgressing}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			set := approvalObjects().ReplicaSet
			if tc.change != nil {
				tc.change(set)
			}
			group, err := view.Approvable(set, tc.group)
			require.Equal(t, tc.want, group)
			if tc.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.err)
		})
	}
}

// Every screen shows who approved which group, which group waits, and how to approve it.
func TestApprovalsAreShown(t *testing.T) {
	o := approvalObjects()
	f := view.FleetOf(o)
	require.Equal(t, []view.Approval{{Group: "canary", By: "alice", At: now.Add(-time.Minute)}, {Group: "0", Waits: true}}, f.Approvals)
	require.Equal(t, "group 0 waits for an approval", f.Approvals[1].Text())
	require.Equal(t, []string{"kubectl", "mwrs", "approve", "web", "--group", "0", "-n", "default"}, f.Next[0].Args)

	effect := view.EffectOf(o, view.VerbApprove, nil, []string{"0"})
	require.Equal(t, "Approve revision 1 of default/web for group 0?", effect.Question)
	require.Equal(t, "The hub rolls revision 1 by argocd (v2) out to the clusters of group 0 now, with the rollout strategy.", effect.Then)
	effect = view.EffectOf(o, view.VerbApprove, nil, []string{"canary"})
	require.Contains(t, effect.Then, "to the clusters of group canary when its turn comes")
	held := approvalObjects()
	held.ReplicaSet.Status.Held = []workv1alpha1.HeldCluster{{Cluster: "c1"}}
	effect = view.EffectOf(held, view.VerbApprove, nil, []string{"0"})
	require.Contains(t, effect.Then, "Clusters that are on hold or outside their windows still wait.")
	newer := approvalObjects()
	newer.ReplicaSet.Spec.ManifestWorkTemplate = *template("newer")
	require.Equal(t, "The template in the spec is newer: the hub rolls it out instead of revision 1.",
		view.EffectOf(newer, view.VerbApprove, nil, []string{"0"}).Then)

	given := approvalObjects() // The hub has not seen the approval of group 0 yet.
	given.ReplicaSet.Status.Approvals = append(given.ReplicaSet.Status.Approvals, workv1alpha1.Approval{Group: "0"})
	f = view.FleetOf(given)
	require.False(t, f.Approvals[len(f.Approvals)-1].Waits)
	require.NotContains(t, f.Next[0].Args, "approve")
	_, err := view.Approvable(given.ReplicaSet, "")
	require.ErrorContains(t, err, "no group of")

	offers := view.Offers(o)
	require.Equal(t, view.Offer{Verb: view.VerbApprove, Group: "0"}, offers[len(offers)-1])
	o.ReplicaSet.Status.AwaitingApproval = nil
	offers = view.Offers(o)
	require.Contains(t, offers[len(offers)-1].Not, "waits for an approval")
	o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.Groups = nil
	for _, offer := range view.Offers(o) {
		require.NotEqual(t, view.VerbApprove, offer.Verb)
	}
}
