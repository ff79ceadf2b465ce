package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// rollsOut is a world in which v2 hangs on the first of two clusters, with failureStrategy AbortAll.
func rollsOut(t *testing.T, deadline string) *teller {
	t.Helper()
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 1, deadline, 0, true), "c1", "c2")
	s.hangs("v2", "")
	s.settle(5 * time.Second)
	return s
}

// R42: decisions that the hub makes while a policy denies its writes of the status are announced when the status can be written again.
func TestEventsOfDecisionsThatTheStatusDidNotShow(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
	s.restarts()
	s.settle(5 * time.Minute)
	permit := s.refusing("patch replicaset web/status", Denied)
	s.hangs("v2", "")
	s.settle(5 * time.Minute)
	s.everywhere("v1")
	require.Nil(t, s.Object().Status.AbortedTime)
	permit()
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	s.warned(workv1alpha1.EventRolloutAborted, "c1")
}

// R43: an abort that was complete remains complete while the hub is not allowed to read the history.
func TestCompleteAbortWithoutHistory(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.aborts()
	s.quiet()
	require.Equal(t, workv1alpha1.StateAborted, s.Object().Status.State)
	s.API.NoHistory = true
	s.restarts()
	s.settle(5 * time.Minute)
	require.Equal(t, workv1alpha1.StateAborted, s.Object().Status.State, s.story())
}

// R15, R42: if the permission on ControllerRevisions is revoked in the middle of a rollout, the hub decides with its cache after 10 s. An
// abort does not wait until the watch ends.
func TestAbortAfterThePermissionWasRevoked(t *testing.T) {
	for name, abort := range map[string]func(s *teller){
		"at the deadline": func(*teller) {},
		"by hand":         func(s *teller) { s.AbortByHand() },
	} {
		t.Run(name, func(t *testing.T) {
			s := rollsOut(t, "1m")
			s.Tell("admin: revokes the permission on ControllerRevisions")
			s.API.Revoked = true
			s.Annotate("new label") // The hub has not verified the history for this version of the object.
			abort(s)
			s.settle(3 * time.Minute)
			s.everywhere("v1")
			require.NotNil(t, s.Object().Status.AbortedTime)
			s.says(workv1alpha1.ConditionManifestworkApplied, "ControllerRevision", "fix the cause")
			s.Tell("admin: grants it again")
			s.API.Revoked = false
			s.quiet()
			s.everywhere("v1")
			applied := meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionManifestworkApplied)
			require.Equal(t, "the rollout was aborted", applied.Message)
		})
	}
}

// R41: under the CRD of another release, the hub obeys no command in the status. When this hub's CRD is installed again, a command leads to a
// Warning immediately, and not only after the 5 minutes in which the hub does not write the ledger.
func TestAbortByHandAfterTheCRDWasRepaired(t *testing.T) {
	s := rollsOut(t, "1h")
	s.Tell("admin: applies the CRD of another release, and then the hub's again")
	s.API.OlderCRD = true
	s.Annotate("a cause")
	s.Report("c1", "v2", Degrades)
	s.settle(20 * time.Second)
	require.Empty(t, s.Object().Status.Ledger, s.story())
	s.API.OlderCRD = false
	s.AbortByHand()
	s.settle(20 * time.Second)
	require.NotEmpty(t, s.Object().Status.Ledger, s.story())
	s.warned(workv1alpha1.EventStatusRestored, "status.abortedTime", "repeat it")
	s.AbortByHand()
	s.quiet()
	s.everywhere("v1")
}

// R15: after the permission is granted again, the condition no longer names it, even if nothing is left to decide.
func TestPermissionIsGrantedAgainWhileNothingHappens(t *testing.T) {
	s := rolledOut(t)
	s.API.Revoked = true
	s.Annotate("new label")
	s.Tell("user: deletes the work of c1")
	s.must(s.API.Delete(Works, "c1", Name, nil))
	s.settle(time.Minute)
	s.everywhere("v1")
	s.says(workv1alpha1.ConditionManifestworkApplied, "listing ControllerRevision", "fix the cause")
	s.API.Revoked = false
	s.settle(6 * time.Minute)
	applied := meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionManifestworkApplied)
	require.Equal(t, "2 clusters up to date", applied.Message, s.story())
}

// R42: under the CRD of another release, and without the permission to list revisions, an abort is carried out, and the status is not
// written in a loop.
func TestAbortUnderAnotherCRDWithoutThePermission(t *testing.T) {
	s := rollsOut(t, "1m")
	s.Tell("admin: installs the CRD and the ClusterRole of another release")
	s.API.OlderCRD, s.API.Revoked = true, true
	s.Annotate("a cause")
	s.settle(3 * time.Minute)
	s.everywhere("v1")
	began := len(s.Story)
	s.settle(time.Minute)
	require.Less(t, len(s.Story)-began, 10, s.story())
}
