package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// crowd inserts placementRefs before the last one until there is one more than allowed, as in an object that was stored under an older CRD.
func (s *teller) crowd() {
	s.Edit("has 65 placementRefs, as an older CRD allows", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		last := len(spec.PlacementRefs) - 1
		refs := append([]workv1alpha1.LocalPlacementReference{}, spec.PlacementRefs[:last]...)
		for len(refs) < workv1alpha1.MaxPlacementRefs {
			refs = append(refs, all(fmt.Sprintf("empty%d", len(refs)), "None", false))
		}
		spec.PlacementRefs = append(refs, spec.PlacementRefs[last])
	})
}

// thin keeps only the first and the last placementRef.
func (s *teller) thin() {
	s.Edit("has 2 placementRefs", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{spec.PlacementRefs[0], spec.PlacementRefs[len(spec.PlacementRefs)-1]}
	})
}

// TestIgnoredPlacementRefs: only the first 64 placementRefs count. A cluster that only the others select keeps its work, even if clusters
// are deselected. It gets no new revision, and no rollout completes without it, but an abort restores it.
func TestIgnoredPlacementRefs(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1", "c2"})
	s.Place("p2", []string{"c3"})
	for i := range workv1alpha1.MaxPlacementRefs {
		s.Place(fmt.Sprintf("empty%d", i), nil)
	}
	s.Create("v1", progressive("p1", 5, "30s", 0, true), progressive("p2", 5, "30s", 0, true))
	s.quiet()

	s.crowd()
	s.settle(time.Minute)
	s.says(workv1alpha1.ConditionPlacementVerified, "spec.placementRefs has 65 entries, but only the first 64 count")
	s.says(workv1alpha1.ConditionProgressing, "is successfully progressed")
	s.Place("p1", []string{"c1"})
	s.settle(time.Hour)
	require.Len(s.t, s.Works(), 3, "nothing is deleted")
	s.idle()

	s.Update("v2")
	s.settle(10 * time.Minute)
	require.Equal(t, []string{"v2", "v1", "v1"}, []string{s.held("c1"), s.held("c2"), s.held("c3")})
	require.NotEqual(t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision, "c3 does not have it")
	s.says(workv1alpha1.ConditionProgressing, "no rollout completes while spec.placementRefs has more than 64 entries")
	s.idle()

	s.thin()
	s.quiet()
	require.Equal(t, []string{"v2", "v2"}, []string{s.held("c1"), s.held("c3")})
	require.Len(s.t, s.Works(), 2, "nothing selects c2")
	require.Equal(t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision)

	s.hangs("v3", "c1")
	s.settle(10 * time.Second)
	require.Equal(t, "v3", s.held("c3"), "before the upgrade to this hub")
	s.crowd()
	s.settle(time.Hour)
	require.NotNil(t, s.Object().Status.AbortedTime)
	require.Equal(t, []string{"v2", "v2"}, []string{s.held("c1"), s.held("c3")}, "an abort goes to every work")
	s.says(workv1alpha1.ConditionProgressing, "was aborted")
	s.idle()
}
