package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// awaitingCanary is a fleet at v1. The rollout of v2 waits for the approval of the group g0, which contains c1. The group g1 contains c2,
// and also requires an approval. c3 is in no listed group. Each write is checked.
func awaitingCanary(t *testing.T) *teller {
	t.Helper()
	s := checkedStory(t)
	ref := progressive("p1", 3, "30s", 0, true)
	s.Place("p1", []string{"c1"}, []string{"c2"}, []string{"c3"})
	s.Create("v1", ref)
	s.quiet()
	ref.RolloutStrategy.Groups = []workv1alpha1.RolloutGroup{
		{GroupName: "g0", Approval: workv1alpha1.ApprovalRequired}, {GroupName: "g1", Approval: workv1alpha1.ApprovalRequired},
	}
	s.Edit("lists groups", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref}
	})
	s.settle(time.Minute)
	s.Update("v2")
	s.settle(10 * time.Minute)
	s.awaits("g0")
	s.everywhere("v1")
	return s
}

// awaits checks which groups wait for an approval.
func (s *teller) awaits(groups ...string) {
	s.t.Helper()
	require.Equal(s.t, groups, s.Object().Status.AwaitingApproval, s.story())
	require.Equal(s.t, workv1alpha1.StateRollingOut, s.Object().Status.State, s.story())
}

// TestApprovalBeforeItsTurn: a group can be approved before its turn. It then begins when its turn comes.
func TestApprovalBeforeItsTurn(t *testing.T) {
	s := awaitingCanary(t)
	s.Approve("g1", s.hashOf("v2"))
	s.settle(time.Hour)
	s.awaits("g0")
	s.everywhere("v1")
	s.Approve("g0", s.hashOf("v2"))
	s.quiet()
	s.everywhere("v2")
}

// TestApprovalIsWithdrawn: an approval can be withdrawn before its group begins, even during a pause, but not later.
func TestApprovalIsWithdrawn(t *testing.T) {
	s := awaitingCanary(t)
	s.Approve("g1", s.hashOf("v2"))
	s.settle(time.Minute)
	s.Withdraw("g1")
	s.settle(time.Minute)
	require.Empty(t, s.Object().Status.Approvals, s.story())
	s.Pause(true)
	s.settle(time.Minute)
	s.Approve("g0", s.hashOf("v2"))
	s.settle(time.Minute)
	require.Len(t, s.Object().Status.Approvals, 1)
	s.Withdraw("g0")
	s.settle(time.Minute)
	s.Pause(false)
	s.settle(time.Hour)
	s.everywhere("v1")
	s.awaits("g0")

	s.Approve("g0", s.hashOf("v2"))
	s.settle(time.Minute)
	s.has("v2", "c1")
	s.Withdraw("g0")
	s.settle(time.Minute)
	require.Len(t, s.Object().Status.Approvals, 1, s.story())
	s.warned(workv1alpha1.EventApprovalIgnored, `group "g0": it has begun`)
}

// TestApprovalIsForOneRevision: an approval for another revision, a late or repeated approval, and the removal of the list have no effect.
func TestApprovalIsForOneRevision(t *testing.T) {
	s := awaitingCanary(t)
	before := s.hashOf("v2")
	s.Approve("g0", s.hashOf("v1"))
	s.settle(time.Hour)
	s.awaits("g0")
	require.Empty(t, s.Object().Status.Approvals)
	s.warned(workv1alpha1.EventApprovalIgnored, "not for the update revision")

	s.Update("v3")
	s.settle(time.Minute)
	s.awaits("g0")
	s.Approve("g0", before) // The approval is late.
	s.settle(time.Hour)
	s.everywhere("v1")

	s.Approve("g0", s.hashOf("v3"))
	s.settle(time.Minute)
	s.has("v3", "c1")
	first := s.Object().Status.Approvals
	s.setApprovals([]workv1alpha1.Approval{{Group: "g0", Revision: s.hashOf("v3"), By: "mallory"}})
	s.settle(time.Minute)
	require.Equal(t, first, s.Object().Status.Approvals, s.story())
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"approvals": nil}}, true)
	s.settle(time.Minute)
	require.Equal(t, first, s.Object().Status.Approvals, s.story())
	s.warned(workv1alpha1.EventApprovalIgnored, "the list was removed")

	s.Update("v2") // A revision that was approved, or rolled out, needs a new approval.
	s.settle(time.Hour)
	require.Empty(t, s.Object().Status.Approvals)
	s.awaits("g0")
	s.has("v1", "c2", "c3")
}

// TestForgedApproval: a status with an invalid ledger approves nothing.
func TestForgedApproval(t *testing.T) {
	s := awaitingCanary(t)
	s.forgeApproval("g0")
	s.settle(time.Hour)
	s.awaits("g0")
	s.everywhere("v1")
	require.Empty(t, s.Object().Status.Approvals)
	s.warned(workv1alpha1.EventStatusRestored, "status.approvals")
	s.restarts()
	s.forgeApproval("g0")
	s.settle(time.Hour)
	s.everywhere("v1")
}

// drawApprovals requires an approval for some of the listed groups.
func drawApprovals(t *rapid.T, groups []workv1alpha1.RolloutGroup) (drawn []workv1alpha1.RolloutGroup) {
	for _, group := range groups {
		if rapid.Bool().Draw(t, "approval") {
			group.Approval = workv1alpha1.ApprovalRequired
		}
		drawn = append(drawn, group)
	}
	return drawn
}

// approvals adds the actions of users with approvals: for the update revision and for others, in time and late, and with an invalid ledger.
func (m *model) approvals(actions map[string]func(*rapid.T)) {
	groups := []string{"g0", "1", "none", "g1"}
	actions["approve"] = func(t *rapid.T) {
		hash := m.w.Object().Status.UpdateRevision
		if rapid.IntRange(0, 3).Draw(t, "other") == 0 {
			hash = rapid.SampledFrom([]string{"other", m.w.Object().Status.CurrentRevision}).Draw(t, "hash")
		}
		if hash != "" {
			m.w.Approve(rapid.SampledFrom(groups).Draw(t, "group"), hash)
		}
	}
	actions["withdraw approvals"] = func(t *rapid.T) {
		m.w.Withdraw(rapid.SliceOfNDistinct(rapid.SampledFrom(groups), 1, 4, rapid.ID[string]).Draw(t, "groups")...)
	}
	actions["forge an approval"] = func(t *rapid.T) {
		if m.w.Object().Status.UpdateRevision != "" {
			m.w.forgeApproval(rapid.SampledFrom(groups).Draw(t, "group"))
		}
	}
}

// approveAll approves the waiting groups until none waits.
func (m *model) approveAll() {
	for range 10 {
		waiting := m.w.Object().Status.AwaitingApproval
		if len(waiting) == 0 {
			return
		}
		for _, group := range waiting {
			m.w.Approve(group, m.w.Object().Status.UpdateRevision)
		}
		m.rest()
	}
	m.t.Fatalf("groups wait for approvals that they have\n%s", m.story())
}
