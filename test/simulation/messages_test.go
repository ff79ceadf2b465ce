package simulation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// R12: what an abort says when it is decided counts clusters at the revision that they go back to, not those that had succeeded at the bad one.
func TestFirstWordOfAnAbort(t *testing.T) {
	s := rolledOut(t)
	s.Report("c1", "v2", Hangs)
	s.Update("v2")
	told := false
	s.World.Check = func(write string) {
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
