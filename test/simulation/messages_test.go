package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// R12: if a user requests an abort, and there is no revision to return to, the message names the reason and the remedy, even while clusters
// are in flight.
func TestAbortOfTheFirstRolloutIsImpossible(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1"})
	s.Place("p2", []string{"c2"})
	s.Report("", "v1", Hangs)
	s.Create("v1", all("p1", "30s", true), all("p2", "None", false))
	s.settle(time.Minute)
	s.says(workv1alpha1.ConditionProgressing, "1 in flight", "can't be followed", "no rollout has completed yet", "put a good template into the spec")
	require.Equal(t, 1, counts(s.events)[workv1alpha1.EventAbortImpossible])
	s.quiet()
}

// R7, R12: the same applies if the stable revision was deleted, and no work has it.
func TestAbortToADeletedRevisionIsImpossible(t *testing.T) {
	s := rolledOut(t)
	s.hangs("v2", "")
	s.settle(time.Second)
	s.DeleteRevision(s.Revisions()[0].Name)
	s.quiet()
	s.says(workv1alpha1.ConditionProgressing, "can't be followed", "it was deleted", "put a good template into the spec")
}

// R12: the first message of an abort counts the clusters at the restored revision, not those that had succeeded at the bad one.
func TestFirstWordOfAnAbort(t *testing.T) {
	s := rolledOut(t)
	s.hangs("v2", "c1")
	told := false
	s.Check = func(write string) {
		if told || !strings.HasSuffix(write, "/status") || s.Object().Status.AbortedTime == nil {
			return
		}
		told = true
		s.says(workv1alpha1.ConditionProgressing, "is being aborted", "confirmed by 0 of 2 clusters")
		s.says(workv1alpha1.ConditionPlacementRolledOut, "confirmed by 0 of 2 clusters")
	}
	s.quiet()
	require.True(t, told)
}
