package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// A group is approved once, by the first user. A new rollout and a retry need new approvals; a completion keeps them for readers.
func TestApprove(t *testing.T) {
	l := numbered(4, approved("canary", "0"))
	require.True(t, l.Approved("canary") && l.Approved("0") && !l.Approved("stores"))
	l.Approve(&Approval{Group: "canary", By: "bob", At: at(5)})
	require.Equal(t, []Approval{{Group: "0", By: "alice", At: at(2)}, {Group: "canary", By: "alice", At: at(1)}}, l.Approvals)

	before := l.Clone()
	l.Withdraw("0")
	l.Withdraw("stores")
	require.False(t, l.Approved("0"))
	require.True(t, before.Approved("0"), "a clone shares nothing")
	l.Withdraw("canary")
	require.Nil(t, l.Approvals)

	for name, over := range map[string]func(*Ledger){
		"a new rollout": func(l *Ledger) { l.Begin(named("c"), New, at(9), false) },
		"a retry":       func(l *Ledger) { l.Retry(at(9)) },
	} {
		next := before.Clone()
		over(&next)
		require.Nil(t, next.Approvals, name)
	}
	before.End(at(9))
	require.Len(t, before.Approvals, 2)
}

func TestGroupID(t *testing.T) {
	for want, group := range map[string]workv1alpha1.RolloutGroup{
		"canary": {GroupName: "canary"}, "0": {GroupIndex: ptr.To[int32](0)}, "both": {GroupName: "both", GroupIndex: ptr.To[int32](1)}, "": {},
	} {
		require.Equal(t, want, GroupID(&group))
	}
}

// Differing names the list, for the warning that a status whose ledger does not count was restored.
func TestDifferingApprovals(t *testing.T) {
	l := numbered(4, approved("canary"))
	status := projected(t, l)
	require.Empty(t, l.Differing(status))
	status.Approvals = append(status.Approvals, entry("stores", "b", "mallory"))
	require.Equal(t, []string{"status.approvals"}, l.Differing(status))
}
