package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// A group is approved once, by the first user. A new rollout and a retry need new approvals; a completion keeps them for readers.
func TestApprove(t *testing.T) {
	l := numbered(4, approved("canary", "0"))
	require.True(t, l.Approved("canary") && l.Approved("0") && !l.Approved("stores"))
	l.Approve(&revision.Approval{Group: "canary", By: "bob", At: at(5)})
	require.Equal(t, []revision.Approval{{Group: "0", By: "alice", At: at(2)}, {Group: "canary", By: "alice", At: at(1)}}, l.Approvals)

	before := l.Clone()
	l.Withdraw("0")
	l.Withdraw("stores")
	require.False(t, l.Approved("0"))
	require.True(t, before.Approved("0"), "a clone shares nothing")
	l.Withdraw("canary")
	require.Empty(t, l.Approvals)

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

// Differing includes the list, for the warning that a status whose ledger does not count was restored.
func TestDifferingApprovals(t *testing.T) {
	l := numbered(4, approved("canary"))
	status := projected(t, l)
	require.Empty(t, l.Differing(status))
	status.Approvals = append(status.Approvals, entry("stores", "b", "mallory"))
	require.Equal(t, []string{"status.approvals"}, l.Differing(status))
}
