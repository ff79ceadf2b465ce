package status_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// The status lists each group that waits only for an approval once.
func TestAwaitingApproval(t *testing.T) {
	plan := &rollout.Plan{Groups: []rollout.GroupState{
		{Group: "stores", State: rollout.GroupUnapproved}, {Group: "late", State: rollout.GroupWaiting, NeedsApproval: true},
		{Group: "canary", State: rollout.GroupUnapproved}, {Group: "canary", State: rollout.GroupUnapproved}, {Group: "done", State: rollout.GroupDone},
	}}
	require.Equal(t, []string{"canary", "stores"}, status.AwaitingApproval(plan))
	require.Nil(t, status.AwaitingApproval(&rollout.Plan{}))
	plan.Refs = []rollout.RefOutcome{{Ref: &placement.Ref{Name: "p1"}, Halted: true}, {Ref: &placement.Ref{Name: "p2"}}}
	plan.Groups[0].Placement, plan.Groups[2].Placement, plan.Groups[3].Placement = "p1", "p2", "p1"
	require.Equal(t, []string{"canary"}, status.AwaitingApproval(plan))
	plan.Refs = nil
	for i := range 200 {
		plan.Groups = append(plan.Groups, rollout.GroupState{Group: fmt.Sprint(i), State: rollout.GroupUnapproved})
	}
	require.Len(t, status.AwaitingApproval(plan), 100)
}

// A group is announced when it begins to wait, once for each revision.
func TestAwaits(t *testing.T) {
	is := &status.Told{Update: "b", Awaiting: []string{"canary", "stores"}}
	require.Equal(t, []string{"canary", "stores"}, status.Awaits(&status.Told{Update: "b"}, is))
	require.Equal(t, []string{"stores"}, status.Awaits(&status.Told{Update: "b", Awaiting: []string{"canary"}}, is))
	require.Equal(t, []string{"canary", "stores"}, status.Awaits(&status.Told{Update: "a", Awaiting: []string{"canary"}}, is))
	require.Empty(t, status.Awaits(is, is))
}
