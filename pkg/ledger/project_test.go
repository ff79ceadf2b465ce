package ledger

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

func aborted(l *Ledger) {
	l.Abort = &revision.Abort{At: at(1), By: "alice", Said: "leaks memory", Reason: "alice set status.abortedTime: leaks memory", Restored: at(2)}
}

func failed(clusters ...string) func(*Ledger) {
	return func(l *Ledger) {
		var troubles []Trouble
		for _, cluster := range clusters {
			troubles = append(troubles, Trouble{
				Cluster: cluster, State: Failed, Placement: "p1", Since: at(1), Reason: workv1alpha1.FailureDegraded, Message: "crash loop",
			})
		}
		l.SetTroubles(append(troubles, Trouble{Cluster: "c8", State: Rejected, Since: at(1)}, Trouble{Cluster: "c9", State: TriedAgain, Since: at(1)}))
	}
}

// projected returns the status that holds a ledger and its projection.
func projected(t *testing.T, l *Ledger) *objectStatus {
	t.Helper()
	status := &objectStatus{PlacementsSummary: []workv1alpha1.PlacementSummary{{Name: "p1"}, {Name: "p2"}}}
	require.NoError(t, l.Project(status))
	return status
}

// Project writes every field that a ledger projects, and each pass writes the same values.
func TestProject(t *testing.T) {
	l := numbered(4, aborted, failed("c1"), func(l *Ledger) {
		l.Collisions, l.Halted, l.Counted = 2, map[string]time.Time{"p1": at(3).Add(time.Millisecond)}, map[string]int{"p1": 5}
		l.Troubles[0].Message, l.Troubles[1].Since = "a\n\tb\x1b", time.Time{}
	}, approved("stores", "canary"))
	got := projected(t, l)
	second := metav1.NewTime(at(1))
	require.Equal(t, &objectStatus{
		Ledger: text(l), UpdateRevision: "b", CurrentRevision: "a", CollisionCount: ptr.To[int32](2),
		AbortedTime: &second, AbortedBy: "alice", AbortReason: "leaks memory",
		Failures:   []workv1alpha1.ClusterFailure{{Cluster: "c1", Placement: "p1", Since: second, Reason: workv1alpha1.FailureDegraded, Message: `a b\x1b`}},
		Rejections: []workv1alpha1.ClusterFailure{{Cluster: "c8", Since: metav1.Unix(0, 0)}},
		Approvals: []workv1alpha1.Approval{
			{Group: "canary", Revision: "b", By: "alice", At: metav1.NewTime(at(2))}, {Group: "stores", Revision: "b", By: "alice", At: second},
		},
		PlacementsSummary: []workv1alpha1.PlacementSummary{
			{Name: "p1", HaltedTime: ptr.To(metav1.NewTime(at(3))), Counted: 5}, {Name: "p2"},
		},
	}, got)
	again := got.DeepCopy()
	require.NoError(t, l.Project(again))
	require.Equal(t, got, again)
	empty := &Ledger{Format: Format, Owner: uid, Seq: 5}
	require.NoError(t, empty.Project(again))
	require.Equal(t, projected(t, empty), again, "nothing of the ledger before stays")

	l.Ended = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	require.ErrorContains(t, l.Project(again), "encoding the ledger")
}

// A message from an agent or the API server is one line of bounded length, with visible control characters.
func TestQuoted(t *testing.T) {
	require.Equal(t, `a b\x1b c`, Quoted("a\n\tb\x1b c\n"))
	long := Quoted(strings.Repeat("é", 300))
	require.LessOrEqual(t, len(long), workv1alpha1.MaxFailureMessage)
	require.True(t, strings.HasSuffix(long, "é…"), long)
	require.Equal(t, Quoted(long), long, "what is stored is not shortened again (P7)")
}

// A reader that can't read the ledger derives it from the fields.
func TestFromStatus(t *testing.T) {
	l := numbered(4, failed("c1", "c2"), func(l *Ledger) {
		l.Collisions, l.Halted, l.Counted = 2, map[string]time.Time{"p1": at(3)}, map[string]int{"p1": 5}
		l.Abort = &revision.Abort{At: at(1), By: "alice", Said: "leaks memory"}
	}, approved("canary"))
	found := FromStatus(projected(t, l))
	require.Zero(t, found.Seq)
	require.Equal(t, []Named{{Hash: "b"}, {Hash: "a"}}, []Named{found.Update, found.Current})
	require.Equal(t, &revision.Abort{At: at(1), By: "alice", Said: "leaks memory", Reason: "leaks memory"}, found.Abort)
	require.Equal(t, l.Troubles[:3], found.Troubles, "the status does not show which cluster was retried")
	require.Equal(t, l.Halted, found.Halted)
	require.Equal(t, l.Counted, found.Counted)
	require.Equal(t, l.Collisions, found.Collisions)
	require.Equal(t, l.Approvals, found.Approvals)
	nothing := FromStatus(&objectStatus{})
	require.True(t, nothing.Equal(&Ledger{Ended: time.Unix(1, 0)}))

	for state, complete := range map[workv1alpha1.State]bool{
		workv1alpha1.StateComplete: true, workv1alpha1.StatePaused: true, "": true, workv1alpha1.StateRollingOut: false, workv1alpha1.StateStalled: false,
	} {
		same := FromStatus(&objectStatus{UpdateRevision: "a", CurrentRevision: "a", State: state})
		require.Equal(t, complete, same.Complete(), state)
		others := FromStatus(&objectStatus{UpdateRevision: "b", CurrentRevision: "a", State: state})
		require.False(t, others.Complete(), state)
	}
	twice := FromStatus(&objectStatus{PlacementsSummary: []workv1alpha1.PlacementSummary{
		{Name: "p1", Counted: 3, HaltedTime: ptr.To(metav1.NewTime(at(1)))}, {Name: "p1", Counted: 5, HaltedTime: ptr.To(metav1.NewTime(at(2)))},
	}})
	require.Equal(t, map[string]int{"p1": 5}, twice.Counted)
	require.Equal(t, map[string]time.Time{"p1": at(1)}, twice.Halted)
}

func approved(groups ...string) func(*Ledger) {
	return func(l *Ledger) {
		for i, group := range groups {
			l.Approve(&revision.Approval{Group: group, By: "alice", At: at(i + 1)})
		}
	}
}

// entry is an approval in a status.
func entry(group, revision, by string) workv1alpha1.Approval {
	return workv1alpha1.Approval{Group: group, Revision: revision, By: by, At: metav1.NewTime(at(9))}
}

// Only a field that differs from the projection of the ledger in the same status is a command (R41).
func TestCommandsIn(t *testing.T) {
	now := metav1.NewTime(at(9))
	stays := Commands{Name: "a"}
	for name, tc := range map[string]struct {
		ledger *Ledger
		change func(*objectStatus)
		want   Commands
	}{
		"nothing": {ledger: numbered(4, failed("c1")), want: stays},
		"what projects no decision": {ledger: numbered(4, failed("c1")), want: stays, change: func(s *objectStatus) {
			s.UpdateRevision, s.CollisionCount, s.Rejections, s.State = "z", ptr.To[int32](7), nil, workv1alpha1.StateAborted
			s.AbortedBy, s.AbortReason, s.Failures[0].Message, s.PlacementsSummary = "alice", "leaks memory", "", nil
		}},
		"an abort": {ledger: numbered(4), want: Commands{Name: "a", Abort: &revision.Abort{By: "alice", Said: "leaks memory"}}, change: func(s *objectStatus) {
			s.AbortedTime, s.AbortedBy, s.AbortReason = &now, "alice", "leaks memory"
		}},
		"an abort by nobody": {ledger: numbered(4), want: Commands{Name: "a", Abort: &revision.Abort{}}, change: func(s *objectStatus) { s.AbortedTime = &now }},
		"an abort, in many words": {
			ledger: numbered(4), want: Commands{Name: "a", Abort: &revision.Abort{By: strings.Repeat("é", 126) + "…", Said: `a b\x1b`}}, change: func(s *objectStatus) {
				s.AbortedTime, s.AbortedBy, s.AbortReason = &now, strings.Repeat("é", 300), "a\nb\x1b"
			},
		},
		"an abort of an aborted rollout": {ledger: numbered(4, aborted), want: stays, change: func(s *objectStatus) { s.AbortedTime, s.AbortedBy = &now, "bob" }},
		"a retry":                        {ledger: numbered(4, aborted), want: Commands{Name: "a", Retry: true}, change: func(s *objectStatus) { s.AbortedTime = nil }},
		"a retry of all at once":         {ledger: numbered(4, failed("c1", "c2")), want: Commands{Name: "a", RetryClusters: []string{"c1", "c2"}}, change: func(s *objectStatus) { s.Failures = []workv1alpha1.ClusterFailure{} }},
		"a retry of one":                 {ledger: numbered(4, failed("c1", "c2")), want: Commands{Name: "a", RetryClusters: []string{"c1"}}, change: func(s *objectStatus) { s.Failures = s.Failures[1:] }},
		"the list is gone":               {ledger: numbered(4, failed("c1")), want: Commands{Name: "a", WithoutFailures: true}, change: func(s *objectStatus) { s.Failures = nil }},
		"no list, no failure":            {ledger: numbered(4), want: stays, change: func(s *objectStatus) { s.Failures = nil }},
		"an entry more":                  {ledger: numbered(4, failed("c1")), want: stays, change: func(s *objectStatus) { s.Failures = append(s.Failures, workv1alpha1.ClusterFailure{Cluster: "c2"}) }},
		"a retry of one in an abort":     {ledger: numbered(4, aborted, failed("c1")), want: stays, change: func(s *objectStatus) { s.Failures = []workv1alpha1.ClusterFailure{} }},
		"another stable revision":        {ledger: numbered(4), want: Commands{Name: "z", Names: true}, change: func(s *objectStatus) { s.CurrentRevision = "z" }},
		"no stable revision":             {ledger: numbered(4), want: Commands{Names: true}, change: func(s *objectStatus) { s.CurrentRevision = "" }},
		"an approval": {ledger: numbered(4), want: Commands{Name: "a", Approve: []revision.Approval{{Group: "canary", By: "bob", At: at(9)}}}, change: func(s *objectStatus) {
			s.Approvals = []workv1alpha1.Approval{entry("canary", "b", "bob")}
		}},
		"an approval more": {ledger: numbered(4, approved("0")), want: Commands{Name: "a", Approve: []revision.Approval{{Group: "canary", By: "bob", At: at(9)}}}, change: func(s *objectStatus) {
			s.Approvals = append([]workv1alpha1.Approval{entry("canary", "b", "bob")}, s.Approvals...)
		}},
		"an approval at the end of time, in many words": {
			ledger: numbered(4), change: func(s *objectStatus) {
				s.Approvals = []workv1alpha1.Approval{{Group: "a\nb", Revision: "b", By: strings.Repeat("é", 300), At: metav1.NewTime(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))}}
			},
			want: Commands{Name: "a", Approve: []revision.Approval{{Group: "a b", By: strings.Repeat("é", 126) + "…", At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}}},
		},
		"an approval of another revision": {ledger: numbered(4), want: Commands{Name: "a", ApproveOther: []string{"canary"}}, change: func(s *objectStatus) {
			s.Approvals = []workv1alpha1.Approval{entry("canary", "a", "bob")}
		}},
		"an approval of no revision": {ledger: &Ledger{Seq: 1, Current: named("a")}, want: Commands{Name: "a", ApproveOther: []string{"canary"}}, change: func(s *objectStatus) {
			s.Approvals = []workv1alpha1.Approval{entry("canary", "", "bob")}
		}},
		"an approval again, by another user": {ledger: numbered(4, approved("canary")), want: stays, change: func(s *objectStatus) {
			s.Approvals = []workv1alpha1.Approval{entry("canary", "b", "bob")}
		}},
		"an approval again, for another revision": {ledger: numbered(4, approved("canary")), want: Commands{Name: "a", ApproveOther: []string{"canary"}}, change: func(s *objectStatus) {
			s.Approvals[0].Revision = "a"
		}},
		"an approval twice": {ledger: numbered(4), want: Commands{Name: "a", Approve: []revision.Approval{
			{Group: "canary", By: "alice", At: at(9)}, {Group: "canary", By: "bob", At: at(9)},
		}}, change: func(s *objectStatus) {
			s.Approvals = []workv1alpha1.Approval{entry("canary", "b", "alice"), entry("canary", "b", "bob")}
		}},
		"an approval withdrawn":      {ledger: numbered(4, approved("0", "canary")), want: Commands{Name: "a", Withdraw: []string{"0"}}, change: func(s *objectStatus) { s.Approvals = s.Approvals[1:] }},
		"all approvals withdrawn":    {ledger: numbered(4, approved("0", "canary")), want: Commands{Name: "a", Withdraw: []string{"0", "canary"}}, change: func(s *objectStatus) { s.Approvals = []workv1alpha1.Approval{} }},
		"the list of approvals gone": {ledger: numbered(4, approved("canary")), want: Commands{Name: "a", WithoutApprovals: true}, change: func(s *objectStatus) { s.Approvals = nil }},
		"no approvals":               {ledger: numbered(4), want: stays, change: func(s *objectStatus) { s.Approvals = []workv1alpha1.Approval{} }},
		"several": {ledger: numbered(4, failed("c1")), want: Commands{
			Name: "z", Names: true, Abort: &revision.Abort{}, RetryClusters: []string{"c1"},
		}, change: func(s *objectStatus) {
			s.CurrentRevision, s.AbortedTime, s.Failures = "z", &now, []workv1alpha1.ClusterFailure{}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			status := projected(t, tc.ledger)
			if tc.change != nil {
				tc.change(status)
			}
			found := CommandsIn(status, tc.ledger)
			require.Equal(t, tc.want, found)
			if found.Abort != nil {
				require.LessOrEqual(t, len(found.Abort.By), maxText)
				require.True(t, utf8.ValidString(found.Abort.By))
			}
		})
	}
}
