package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The stable revision gets labels back that someone took away: a rollout that fails goes back to it, also where no work bears its
// hash any more (R7).
func TestStableRevisionThatLostItsLabels(t *testing.T) {
	for name, label := range map[string]string{"owner": workv1alpha1.LabelReplicaSet, "hash": workv1alpha1.LabelControllerHash} {
		for when, concurrency := range map[string]int32{"a work bears it": 1, "no work bears it": 2} {
			t.Run(name+", "+when, func(t *testing.T) {
				s := &teller{World: NewWorld(), t: t}
				s.Place("p1", []string{"c1", "c2"})
				s.Create("v1", progressive("p1", concurrency, "30s", 0, true))
				s.settle(Forever)
				stable := s.Revisions()[0].Name
				s.Report("c1", "v2", Hangs)
				s.Update("v2")
				s.settle(10 * time.Second)
				s.patch(Revisions, Namespace, stable, map[string]any{"metadata": map[string]any{"labels": map[string]any{label: nil}}}, false)
				s.quiet()
				require.NotNil(t, s.Object().Status.AbortedTime, strings.Join(s.Story, "\n"))
				s.has("v1", "c1", "c2")
				require.NotEmpty(t, s.Revisions()[0].Labels[label])
			})
		}
	}
}

// One that is gone, and that nothing tells of, is looked for and not found: nothing is written, and the message says that it was deleted.
func TestStableRevisionThatIsGone(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", all("p1", "30s", true))
	s.settle(Forever)
	stable := s.Revisions()[0].Name
	s.Report("c1", "v2", Hangs)
	s.Update("v2")
	s.settle(10 * time.Second)
	s.DeleteRevision(stable)
	s.quiet()
	require.Nil(t, s.Object().Status.AbortedTime)
	require.Contains(t, strings.Join(s.Story, "\n"), "there is no ControllerRevision "+stable+" to go back to: it was deleted")
}
