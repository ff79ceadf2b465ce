package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestNamesThatNoClusterCanHave: if a decision contains an impossible cluster name, that cluster fails at once, and nothing is written for
// it.
func TestNamesThatNoClusterCanHave(t *testing.T) {
	names := []string{"a+0", "a/b", "..", "a%2fb", "#"}
	playStories(t, map[string]func(*teller){
		"it aborts a rollout before its deadline": func(s *teller) {
			s.stable(progressive("p1", 1, "10m", 0, true), "c1", "c2")
			s.Place("p1", append([]string{"c1", "c2"}, names...))
			s.settle(10 * time.Second)
			s.Update("v2")
			s.settle(10 * time.Second)
			require.NotNil(t, s.Object().Status.AbortedTime)
			s.says(workv1alpha1.ConditionProgressing, `"a/b"`, "no cluster can have such a name")
			s.hold("c1 v1", "c2 v1")
			s.idle()
		},
		"it halts a rollout that is not aborted": func(s *teller) {
			s.Place("p1", []string{"c1", "c2", "a/b"})
			s.Create("v1", progressive("p1", 1, "10m", 0, false))
			s.settle(10 * time.Second)
			s.conditions()
			require.Equal(t, workv1alpha1.StateStalled, s.Object().Status.State)
			s.says(workv1alpha1.ConditionProgressing, `1 cluster ("a/b")`, "correct the PlacementDecisions of Placement p1")
			s.hold()
			s.idle()
			s.Place("p1", []string{"c1", "c2"})
			s.quiet()
			s.everywhere("v1")
			require.Empty(t, s.Object().Status.Failures)
		},
		"it may be tolerated": func(s *teller) {
			s.Place("p1", []string{"c1", "c2", "a%2fb"})
			s.Create("v1", progressive("p1", 1, "10m", 1, true))
			s.settle(time.Minute)
			s.hold("c1 v1", "c2 v1")
			require.Equal(t, workv1alpha1.StateComplete, s.Object().Status.State)
			s.idle()
		},
		"an abort goes back without it": func(s *teller) {
			s.Place("p1", []string{"c1", "c2", "#"})
			s.Create("v1", progressive("p1", 2, "30s", 1, true))
			s.settle(time.Minute)
			s.hangs("v2", "c1")
			s.settle(time.Minute)
			require.NotNil(t, s.Object().Status.AbortedTime)
			s.says(workv1alpha1.ConditionProgressing, "rolled back to revision", "confirmed by 2 of 2 clusters")
			s.hold("c1 v1", "c2 v1")
			s.idle()
		},
	})
}
