package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// If the stable revision loses its labels, the hub restores them. A failed rollout returns to this revision, even if no work has its hash
// any more.
func TestStableRevisionThatLostItsLabels(t *testing.T) {
	for name, label := range map[string]string{"owner": workv1alpha1.LabelReplicaSet, "hash": workv1alpha1.LabelControllerHash} {
		for when, concurrency := range map[string]int32{"a work bears it": 1, "no work bears it": 2} {
			t.Run(name+", "+when, func(t *testing.T) {
				s := &teller{World: NewWorld(), t: t}
				s.Place("p1", []string{"c1", "c2"})
				s.Create("v1", progressive("p1", concurrency, "30s", 0, true))
				s.settle(Forever)
				stable := s.Revisions()[0].Name
				s.hangs("v2", "c1")
				s.settle(10 * time.Second)
				s.patch(Revisions, Namespace, stable, map[string]any{"metadata": map[string]any{"labels": map[string]any{label: nil}}}, false)
				s.quiet()
				require.NotNil(t, s.Object().Status.AbortedTime, s.story())
				s.has("v1", "c1", "c2")
				require.NotEmpty(t, s.Revisions()[0].Labels[label])
			})
		}
	}
}

// A work that loses its owner label gets it back, so its cluster never gets a second work.
func TestOwnerLabelIsPutBack(t *testing.T) {
	strip := (*teller).stripOwner
	one := func(s *teller, cluster string) {
		s.t.Helper()
		var names []string
		for _, work := range s.Works() {
			if work.Namespace == cluster {
				names = append(names, work.Name)
				require.Equal(s.t, "default.web", work.Labels[workv1alpha1.LabelReplicaSet])
			}
		}
		require.Equal(s.t, []string{Name}, names, s.story())
	}
	for name, play := range map[string]func(*teller){
		"complete": func(s *teller) {
			s.quiet()
			generation := s.Works()[1].Generation
			strip(s, "c2")
			s.quiet()
			require.Equal(s.t, generation, s.Works()[1].Generation)
		},
		"in the middle of a rollout": func(s *teller) {
			s.hangs("v2", "c2")
			s.settle(10 * time.Second)
			strip(s, "c2")
			s.settle(5 * time.Second)
			one(s, "c2")
			s.quiet()
			require.NotNil(s.t, s.Object().Status.AbortedTime)
			s.has("v1", "c1", "c2", "c3")
		},
		"aborted": func(s *teller) {
			s.hangs("v2", "c2")
			s.quiet()
			strip(s, "c2")
			s.quiet()
			s.has("v1", "c1", "c2", "c3")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.Create("v1", all("p1", "30s", true))
			s.settle(Forever)
			play(s)
			one(s, "c2")
		})
	}
}

// A work of another owner that looks like one of this hub's does not change: its hash is not in the history.
func TestForeignWorkWithoutOwnerStays(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	_, err := s.API.Create(Works, from(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: "c2", Name: Name, Labels: map[string]string{workv1alpha1.LabelControllerHash: "abc"},
		Annotations: map[string]string{workv1alpha1.AnnotationAppliedAt: "2026-01-02T03:00:00Z"},
	}}))
	require.NoError(t, err)
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", all("p1", "30s", true))
	s.settle(Forever)
	for _, work := range s.Works() {
		if work.Namespace == "c2" && work.Name == Name {
			require.Empty(t, work.Labels[workv1alpha1.LabelReplicaSet])
		}
	}
	require.Equal(t, s.hashOf("v1"), s.Object().Status.CurrentRevision)
}

// R9, R18: a deletion finds a work that lost its owner label while the hub wrote nothing.
func TestDeletionFindsAWorkWithoutOwner(t *testing.T) {
	for name, edit := range map[string]func(*workv1alpha1.ManifestWorkReplicaSetSpec){
		"in the background": func(*workv1alpha1.ManifestWorkReplicaSetSpec) {},
		"in the foreground": func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.CascadeDeletionPolicy = upstream.Foreground },
		"preserving": func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
			spec.PreserveResourcesOnDeletion = ptr.To(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := rolledOut(t)
			uids := s.objects.uids()
			s.Edit("pauses", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.Paused = true; edit(spec) })
			s.settle(time.Minute)
			s.stripOwner("c2")
			s.settle(time.Minute)
			s.Report("c2", "", Silent)
			s.Delete()
			s.settle(time.Minute)
			s.Report("c2", "", Succeeds)
			s.settle(Forever)
			require.Nil(t, s.Object(), s.story())
			require.Empty(t, s.Works(), s.story())
			if name == "preserving" {
				require.Equal(t, uids, s.objects.uids())
			} else {
				require.Empty(t, s.objects.uids())
			}
		})
	}
}

// R18: a work stays if it may belong to a ManifestWorkReplicaSet with the same name and template in another namespace. This requires that a
// Placement of that object selects the cluster, or may select it.
func TestDeletionLeavesAWorkOfTheSameNameAlone(t *testing.T) {
	for name, test := range map[string]struct {
		selects []string
		change  func(*workv1alpha1.ManifestWorkReplicaSetSpec)
		left    int
	}{
		"it selects the cluster":       {selects: []string{"c2"}, left: 1},
		"its selection is not known":   {left: 1},
		"it selects another cluster":   {selects: []string{"c9"}},
		"it is paused, and did so":     {selects: []string{"c9"}, change: func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.Paused = true }, left: 1},
		"it names another Placement":   {selects: []string{"c2"}, change: func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.PlacementRefs[0].Name = "p2" }},
		"it has no Placement whatever": {change: func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.PlacementRefs = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			s := rolledOut(t)
			s.twin(test.selects, test.change)
			s.settle(time.Minute)
			s.stripOwner("c2")
			before := s.Hub.lists
			s.Delete()
			s.settle(Forever)
			require.Nil(t, s.Object())
			require.Len(t, s.Works(), test.left, s.story())
			require.Equal(t, 1, s.Hub.lists-before, "one list of the works of this object")
		})
	}
}

// twin creates an object with the same name and template in another namespace, whose Placement p1 selects clusters. Without clusters, the
// Placement is missing.
func (s *teller) twin(selects []string, change func(*workv1alpha1.ManifestWorkReplicaSetSpec)) {
	s.t.Helper()
	twin := s.Object().DeepCopy()
	twin.ObjectMeta = metav1.ObjectMeta{Namespace: "other", Name: Name}
	if change != nil {
		change(&twin.Spec)
	}
	_, err := s.API.Create(ReplicaSets, from(twin))
	s.must(err)
	s.patch(ReplicaSets, "other", Name, map[string]any{"status": map[string]any{"updateRevision": s.hashOf("v1")}}, true)
	if selects == nil {
		return
	}
	_, err = s.API.Create(Placements, from(&clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "p1"}}))
	s.must(err)
	decision := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "other", Name: "p1-decision-1", Labels: map[string]string{clusterv1beta1.PlacementLabel: "p1"},
	}}
	_, err = s.API.Create(Decisions, from(decision))
	s.must(err)
	decided := make([]map[string]string, 0, len(selects))
	for _, cluster := range selects {
		decided = append(decided, map[string]string{"clusterName": cluster, "reason": ""})
	}
	s.patch(Decisions, "other", decision.Name, map[string]any{"status": map[string]any{"decisions": decided}}, true)
}

func (s *teller) stripOwner(cluster string) {
	s.patch(Works, cluster, Name, map[string]any{"metadata": map[string]any{"labels": map[string]any{workv1alpha1.LabelReplicaSet: nil}}}, false)
	s.Tell("agent of %s: takes the owner label off its work", cluster)
}
