package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// firstSight is a story of works that another hub rolled out before this hub existed: two older versions, and the current one.
func firstSight(w *World) {
	w.Away = true
	w.Place("p1", []string{"c1", "c2", "c3", "c4"})
	w.Create("v3", progressive("p1", 1, "30s", 0, true))
	w.Edit("keeps no history", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.RevisionHistoryLimit = ptr.To[int32](0) })
	w.Report("c1", "v3", Hangs)
	w.Upstream("p1", "v1", "c1")
	w.Upstream("p1", "v2", "c2")
	w.Upstream("p1", "v3", "c3")
	w.Upstream("p1", "v1", "c4")
}

// Every version that another hub left on clusters is recorded before any cluster is touched, and stays as long as a cluster has it.
func TestFirstSightRecordsAll(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	firstSight(s.World)
	s.Upgrade()
	s.quiet()
	require.NotEmpty(t, s.hashOf("v1"), s.story())
	require.NotContains(t, s.events, workv1alpha1.EventRevisionPruned, s.story())
	require.Empty(t, s.Object().Status.CurrentRevision)
	require.Nil(t, s.Object().Status.AbortedTime)
}

// An agent that removes the marks from its own work does not count as another hub: the stable revision stays the same, even between two
// templates.
func TestAgentThatStripsItsWorkHidesNoStableRevision(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.Create("v1", all("p1", "30s", true))
	s.settle(Forever)
	s.hangs("v2", "")
	s.settle(10 * time.Second)
	s.has("v2", "c1", "c2", "c3")
	s.strip("c3")
	s.hangs("v3", "c1")
	s.quiet()
	require.Equal(t, s.hashOf("v1"), s.Object().Status.CurrentRevision, s.story())
	require.NotNil(t, s.Object().Status.AbortedTime)
	s.has("v1", "c1", "c2", "c3")
}

// strip removes the hash and the annotations from a work, as another hub or an agent does.
func (s *teller) strip(cluster string) {
	marks := map[string]any{"labels": map[string]any{workv1alpha1.LabelControllerHash: nil}, "annotations": nil}
	s.patch(Works, cluster, Name, map[string]any{"metadata": marks}, false)
	s.Tell("agent of %s: takes hash and applied-at off its work", cluster)
}

// forge changes the content of a work, as its agent may.
func (s *teller) forge(cluster, version string) {
	template := Template(version)
	s.patch(Works, cluster, Name, map[string]any{"spec": from(&template).Object}, false)
	s.Tell("agent of %s: edits its work to %s", cluster, version)
}

// At first sight, a single agent that edits its own work does not decide which revision is stable. A user can name the revision.
func TestOneEditedWorkAtFirstSightIsNotStable(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Away = true
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.Create("v1", all("p1", "30s", true))
	s.Upstream("p1", "v1", "c1", "c2", "c3")
	s.Report("c1", "v1", Hangs)
	s.forge("c2", "forged")
	s.settle(time.Minute)
	s.Upgrade()
	s.quiet()
	object := s.Object()
	require.Nil(t, object.Status.AbortedTime, s.story())
	require.Empty(t, object.Status.CurrentRevision)
	s.has("v1", "c1", "c2", "c3")
	require.Contains(t, s.story(), "the ManifestWorks did not show which revision was stable before")
	require.Contains(t, s.story(), "write its hash into status.currentRevision ("+s.hashOf("forged")+")")
}

// The content that an agent puts into works that no Placement selects, or under names that no hub uses, is not recorded.
func TestForgedWorksAtFirstSightAreNoHistory(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Away = true
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.Create("v1", all("p1", "30s", true))
	s.Upstream("p1", "v1", "c1", "c2", "c3")
	s.Upstream("p1", "forged", "c8", "c9") // Newer works of clusters that no placement selects.
	other := &workv1.ManifestWork{Spec: Template("other")}
	other.Namespace, other.Name, other.Labels = "c2", "anything", map[string]string{workv1alpha1.LabelReplicaSet: "default.web", workv1alpha1.LabelPlacement: "p1"}
	_, err := s.API.Create(Works, from(other))
	require.NoError(t, err)
	s.Report("c1", "v1", Hangs)
	s.settle(time.Minute)
	s.Upgrade()
	s.quiet()
	require.Empty(t, s.Object().Status.CurrentRevision, s.story())
	require.Empty(t, s.hashOf("forged"))
	require.Empty(t, s.hashOf("other"))
	s.has("v1", "c1", "c2", "c3")
}

// Two clusters with the same version are enough, even if OCM's hub generated the names of their works.
func TestStableAtFirstSight(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Away = true
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.Create("v2", all("p1", "30s", true))
	s.GeneratesNames = true
	s.Upstream("p1", "v1", "c1", "c2", "c3")
	s.Report("c1", "v2", Hangs)
	s.settle(time.Minute)
	s.Upgrade()
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	require.Equal(t, s.hashOf("v1"), s.Object().Status.CurrentRevision)
	require.Len(t, s.Works(), 3)
	s.has("v1", "c1", "c2", "c3")

	// One work loses its owner label: no second work is created for its cluster.
	require.NotEqual(t, Name, s.Works()[1].Name)
	s.patch(Works, "c2", s.Works()[1].Name, map[string]any{"metadata": map[string]any{"labels": map[string]any{workv1alpha1.LabelReplicaSet: nil}}}, false)
	s.quiet()
	require.Len(t, s.Works(), 3, s.story())
}

// An agent strips and edits its work at each new template. Its content is not recorded, and no revision is pruned for it.
func TestAgentWipesNoHistory(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.Create("v1", progressive("p1", 1, "30s", 0, true))
	s.Edit("keeps two", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.RevisionHistoryLimit = ptr.To[int32](2) })
	s.settle(Forever)
	for _, version := range []string{"v2", "v3"} {
		s.Update(version)
		s.quiet()
	}
	for _, version := range []string{"v4", "v5", "v4", "v5"} {
		s.forge("c3", "forged-"+version)
		s.strip("c3")
		s.Update(version)
		s.quiet()
		require.Empty(t, s.hashOf("forged-"+version), s.story())
	}
	require.NotEmpty(t, s.hashOf("v3"))
	require.NotEmpty(t, s.hashOf("v4"))
}

// At most ten versions of another hub are recorded.
func TestFirstSightRecordsTen(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Away = true
	var clusters []string
	for i := range 14 {
		clusters = append(clusters, fmt.Sprintf("c%02d", i))
	}
	s.Place("p1", clusters)
	s.Create("v1", progressive("p1", 1, "30s", 0, true))
	for i, cluster := range clusters {
		s.Upstream("p1", fmt.Sprintf("old%02d", max(i, 1)), cluster)
	}
	s.Report("", "v1", Hangs)
	s.settle(time.Minute)
	s.Upgrade()
	s.quiet()
	require.Len(t, s.Revisions(), 11, s.story())
	require.NotEmpty(t, s.hashOf("old01"), "the version on the most clusters")
	require.Equal(t, s.hashOf("v1"), s.Revisions()[10].Labels[workv1alpha1.LabelControllerHash])
}
