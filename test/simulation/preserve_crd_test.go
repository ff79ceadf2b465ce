package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// An object is being deleted, its workloads must stay, and the hub waits for the agent of c1. OCM's operator then applies its own CRD,
// which drops spec.preserveResourcesOnDeletion. No user has set the field to false, so the workloads still stay.
func TestOlderCRDDuringAPreservingDeletion(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1"})
	s.Create("v1", all("p1", "10m", true))
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"spec": map[string]any{"preserveResourcesOnDeletion": true}}, false)
	s.settle(Forever)
	s.Report("c1", "", Silent)
	s.must(s.API.Delete(ReplicaSets, Namespace, Name, nil))
	s.settle(time.Minute)
	require.Nil(t, s.Works()[0].DeletionTimestamp)
	s.API.OlderCRD = true
	object, err := s.API.Get(ReplicaSets, Namespace, Name)
	s.must(err)
	served := object.DeepCopy()
	unstructured.RemoveNestedField(served.Object, "spec", "preserveResourcesOnDeletion")
	for _, field := range s.API.pruned() {
		unstructured.RemoveNestedField(served.Object, "status", field)
	}
	s.API.store(ReplicaSets, served)
	s.settle(time.Minute)
	require.Nil(t, s.Works()[0].DeletionTimestamp, "its agent would delete the workloads")
	s.Edit("edits something else", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.PlacementRefs[0].RolloutStrategy.All.ProgressDeadline = "20m"
	})
	require.Nil(t, s.Object().Spec.PreserveResourcesOnDeletion)
	s.settle(time.Minute)
	require.Nil(t, s.Works()[0].DeletionTimestamp, "and still would")
	s.API.OlderCRD = false
	s.Preserve(false)
	s.settle(time.Minute)
	require.NotNil(t, s.Works()[0].DeletionTimestamp, "only false gives up")
}

// While a preserving deletion waits for the agent of c1, the field is removed from the spec and another writer changes the conditions. The
// decision is in the ledger: the workloads stay until the field is false.
func TestPreservingIsADecision(t *testing.T) {
	conditions := map[string][]any{
		"no conditions":      {},
		"a foreign Deleting": {map[string]any{"type": workv1alpha1.ConditionDeleting, "status": "False", "reason": "Other", "message": "other"}},
	}
	for name, told := range conditions {
		t.Run(name, func(t *testing.T) {
			s := leaves(t)
			s.Report("c1", "", Silent)
			s.Delete()
			s.settle(time.Minute)
			s.patch(ReplicaSets, Namespace, Name, map[string]any{"spec": map[string]any{"preserveResourcesOnDeletion": nil}}, false)
			s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"conditions": told}}, true)
			s.settle(time.Minute)
			require.Nil(t, s.Works()[0].DeletionTimestamp, "its agent would delete the workloads")
			require.Contains(t, s.deleting(), "keeping the workloads")
			s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": nil}, true)
			s.Restart()
			s.settle(time.Minute)
			require.Nil(t, s.Works()[0].DeletionTimestamp, "and the copy has the decision, too")
			s.Preserve(false)
			s.settle(time.Minute)
			require.NotNil(t, s.Works()[0].DeletionTimestamp, "only false gives up")
			s.Report("c1", "", Succeeds)
			s.gone()
		})
	}
}

// A condition Deleting that another writer adds does not turn a deletion into a preserving one.
func TestForgedDeletingPreservesNothing(t *testing.T) {
	s := checkedStory(t)
	s.stable(all("p1", "10m", true), "c1")
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": workv1alpha1.ConditionDeleting, "status": "True", "reason": "Other", "message": "other"},
	}}}, true)
	s.Delete()
	s.gone()
	require.Empty(t, s.objects.uids())
}
