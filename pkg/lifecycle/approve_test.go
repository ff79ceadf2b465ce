package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

func approval(group, by string, at time.Time) revision.Approval {
	return revision.Approval{Group: group, By: by, At: at}
}

// grouped is a view in which the groups canary (c1) and 1 (c2) require an approval, and stores (c3) does not.
func grouped(before ledger.Ledger) *lifecycle.Observation {
	v := view("b", before, object("a", 1), object("b", 2))
	v.Refs = []placement.Ref{
		rt.Ref("p1", rt.Clusters("c0")), rt.Ref("p2", rt.Progressive(1), rt.GroupAt(0, "canary", "c1", "c0"), rt.GroupAt(1, "", "c2"), rt.GroupAt(2, "stores", "c3")),
	}
	v.Refs[1].Strategy.Groups = []workv1alpha1.RolloutGroup{
		{GroupName: "canary", Approval: workv1alpha1.ApprovalRequired}, {GroupIndex: ptr.To[int32](1), Approval: workv1alpha1.ApprovalRequired},
		{GroupName: "stores"},
	}
	return v
}

// A user approves groups that require it for the rollout in progress. Everything else is reverted, with one event.
func TestApprove(t *testing.T) {
	const reverted = "ApprovalIgnored: status.approvals was changed, and the hub reverted the change: "
	earlier := rt.At(30 * time.Minute)
	approved := decided("a", "b")
	approved.Approve(&revision.Approval{Group: "canary", By: "alice", At: rt.At(0)})
	over, complete := aborted("a", "b", time.Minute), decided("b", "b")
	over.Approvals, complete.Approvals = approved.Approvals, approved.Approvals
	full := decided("a", "b")
	for i := range ledger.MaxApprovals {
		full.Approve(&revision.Approval{Group: fmt.Sprint(1000 + i)})
	}
	by := func(group, by string) []revision.Approval { return []revision.Approval{approval(group, by, earlier)} }
	const unlisted = "no entry of rolloutStrategy.groups has this name or index and approval: Required"
	for name, tc := range map[string]struct {
		before   ledger.Ledger
		commands ledger.Commands
		want     []revision.Approval
		event    string
	}{
		"a group":            {before: decided("a", "b"), commands: ledger.Commands{Approve: by("canary", "bob")}, want: by("canary", "bob")},
		"a group by index":   {before: decided("a", "b"), commands: ledger.Commands{Approve: by("1", "bob")}, want: by("1", "bob")},
		"one more":           {before: approved, commands: ledger.Commands{Approve: by("1", "bob")}, want: append(by("1", "bob"), approved.Approvals...)},
		"twice":              {before: decided("a", "b"), commands: ledger.Commands{Approve: append(by("canary", "bob"), by("canary", "eve")...)}, want: by("canary", "bob")},
		"without a time":     {before: decided("a", "b"), commands: ledger.Commands{Approve: []revision.Approval{{Group: "canary"}}}, want: []revision.Approval{approval("canary", "", now)}},
		"in the future":      {before: decided("a", "b"), commands: ledger.Commands{Approve: []revision.Approval{approval("canary", "", now.Add(time.Hour))}}, want: []revision.Approval{approval("canary", "", now)}},
		"withdrawn":          {before: approved, commands: ledger.Commands{Withdraw: []string{"canary"}}},
		"nothing":            {before: approved, want: approved.Approvals},
		"it requires none":   {before: approved, commands: ledger.Commands{Approve: by("stores", "bob")}, want: approved.Approvals, event: `group "stores": ` + unlisted},
		"no group":           {before: approved, commands: ledger.Commands{Approve: by("", "bob")}, want: approved.Approvals, event: `group "": ` + unlisted},
		"an unknown group":   {before: approved, commands: ledger.Commands{Approve: by("0", "bob")}, want: approved.Approvals, event: `group "0": ` + unlisted},
		"too many":           {before: full, commands: ledger.Commands{Approve: by("canary", "bob")}, want: full.Approvals, event: `group "canary": 100 groups are approved, and no more can be`},
		"another revision":   {before: approved, commands: ledger.Commands{ApproveOther: []string{"1"}}, want: approved.Approvals, event: fmt.Sprintf(`group "1": the approval is not for the update revision, whose hash is %q`, hashOf("b"))},
		"aborted":            {before: over, commands: ledger.Commands{Approve: by("1", "bob")}, want: approved.Approvals, event: fmt.Sprintf(`group "1": the rollout of revision %s was aborted, so there is nothing to approve`, nameOf("b"))},
		"complete":           {before: complete, commands: ledger.Commands{Approve: by("1", "bob")}, want: approved.Approvals, event: fmt.Sprintf(`group "1": the rollout of revision %s is complete, so there is nothing to approve`, nameOf("b"))},
		"withdrawn, aborted": {before: over, commands: ledger.Commands{Withdraw: []string{"canary"}}, want: approved.Approvals, event: "was aborted, so no approval can be withdrawn"},
		"withdrawn, over":    {before: complete, commands: ledger.Commands{Withdraw: []string{"canary"}}, want: approved.Approvals, event: "is complete, so no approval can be withdrawn"},
		"the list is gone":   {before: approved, commands: ledger.Commands{WithoutApprovals: true}, want: approved.Approvals, event: "the list was removed: to withdraw an approval, remove its entry"},
		"aborted with it":    {before: decided("a", "b"), commands: ledger.Commands{Abort: &revision.Abort{}, Approve: by("canary", "bob")}, event: "was aborted"},
		"a retry":            {before: over, commands: ledger.Commands{Retry: true}},
		"a retry with one":   {before: over, commands: ledger.Commands{Retry: true, Approve: by("1", "bob")}, want: by("1", "bob")},
		"some of it": {
			before: approved, want: append(by("1", "bob"), approved.Approvals...), event: `group "stores": ` + unlisted + "; and 2 more",
			commands: ledger.Commands{Approve: append(append(by("stores", "bob"), by("1", "bob")...), by("2", "bob")...), WithoutApprovals: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := grouped(tc.before)
			v.Commands = tc.commands
			d := begin(v)
			require.Equal(t, tc.want, append([]revision.Approval(nil), d.Ledger.Approvals...))
			if tc.event == "" {
				require.Empty(t, d.Events)
				return
			}
			require.Len(t, d.Events, 1)
			require.True(t, d.Events[0].Warning)
			require.Equal(t, tc.commands.WithoutApprovals, d.Events[0].Once)
			require.True(t, strings.HasPrefix(notes(d), reverted), notes(d))
			require.Contains(t, notes(d), tc.event)
		})
	}
}

// An approval is withdrawn until the first cluster of its group has the revision.
func TestWithdrawBeforeTheGroupBegins(t *testing.T) {
	for name, tc := range map[string]struct {
		group string
		works []work.Work
		stays bool
	}{
		"no cluster has it":                 {group: "canary", works: []work.Work{ours("c1", "a"), ours("c2", "b")}},
		"a cluster has it":                  {group: "canary", works: []work.Work{ours("c1", "b")}, stays: true},
		"by index":                          {group: "1", works: []work.Work{ours("c2", "b")}, stays: true},
		"a cluster of another placementRef": {group: "canary", works: []work.Work{ours("c0", "b")}},
		"a cluster that is not selected":    {group: "canary", works: []work.Work{ours("c9", "b")}},
		"a forged one":                      {group: "", works: []work.Work{ours("c1", "b"), ours("c2", "b")}},
	} {
		t.Run(name, func(t *testing.T) {
			before := decided("a", "b")
			before.Approve(&revision.Approval{Group: tc.group, At: rt.At(0)})
			v := grouped(before)
			v.Notes.Works, v.Commands.Withdraw = tc.works, []string{tc.group}
			d := begin(v)
			require.Equal(t, tc.stays, d.Ledger.Approved(tc.group))
			if tc.stays {
				require.Contains(t, notes(d), "it has begun, so its approval can't be withdrawn")
			}
		})
	}
}

// The record of a revision keeps the names of the users who approved its rollout.
func TestApprovalsAreRecorded(t *testing.T) {
	before := decided("a", "b")
	before.Approve(&revision.Approval{Group: "canary", By: "alice", At: rt.At(0)})
	v := grouped(before)
	rev := v.History.ByHash(hashOf("b"))
	require.Equal(t, []revision.Approval{{Group: "canary", By: "alice", At: rt.At(0)}}, v.RecordOf(&before, rev).Approvals)
	before.Retry(now)
	require.Empty(t, v.RecordOf(&before, rev).Approvals)
}
