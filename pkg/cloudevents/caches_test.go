package cloudevents

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

// filled is an informer with contents set by a test.
type filled struct {
	cache.SharedIndexInformer
	synced bool
}

func newFilled(t *testing.T, indexers cache.Indexers, objects ...any) *filled {
	t.Helper()
	f := &filled{SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, &unstructured.Unstructured{}, 0, indexers), synced: true}
	for _, object := range objects {
		require.NoError(t, f.GetStore().Add(object))
	}
	return f
}

func (f *filled) HasSynced() bool { return f.synced }

// typed converts a Placement and its decision to the types in the hub's informers.
func typed(t *testing.T, objects []runtime.Object) (*clusterv1beta1.Placement, *clusterv1beta1.PlacementDecision) {
	t.Helper()
	placement, decision := &clusterv1beta1.Placement{}, &clusterv1beta1.PlacementDecision{}
	for i, into := range []any{placement, decision} {
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].(*unstructured.Unstructured).Object, into))
	}
	return placement, decision
}

// Owners and revisions that agents make up cost no request: the hub's informers show that they do not exist.
func TestOwnersFromCaches(t *testing.T) {
	owners := newOwners(t, testRevision(t, "abc"))
	first, firstDecision := typed(t, placementIn("p1", 2, "c1", "c2"))
	second, secondDecision := typed(t, placementIn("p2", 1, "c3"))
	replicaSets := newFilled(t, nil, replicaset.Decode(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
		"metadata": map[string]any{"namespace": "ns", "name": "web", "uid": "uid-of-web"},
		"spec":     map[string]any{"placementRefs": []any{map[string]any{"name": "p1"}, map[string]any{"name": "p2"}}},
	}}))
	placements := newFilled(t, nil, first, second)
	owners.UseCaches(Caches{
		ReplicaSets: replicaSets, Placements: placements, Revisions: newFilled(t, nil, testRevision(t, "abc")),
		Decisions: newFilled(t, replicaset.PlacementIndexers(), firstDecision, secondDecision),
	})
	find := func(name, hash, cluster string) Owner {
		owner, err := owners.Find(t.Context(), Claim{Namespace: "ns", Name: name, Hash: hash, Cluster: cluster})
		require.NoError(t, err)
		return owner
	}
	wanted := spec("abc")
	require.Equal(t, Owner{Exists: true, Selection: Selected, Template: &wanted}, find("web", "abc", "c1"))
	require.Equal(t, Owner{Exists: true, Selection: Selected}, find("web", "made-up", "c3"))
	require.Equal(t, Owner{Exists: true, Selection: Unselected}, find("web", "abc", "c4"))
	require.Equal(t, Owner{}, find("made-up", "abc", "c1"))
	require.Empty(t, owners.client.Actions(), "nobody was asked")
	require.NoError(t, placements.GetStore().Delete(&clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p2"}}))
	require.Equal(t, SelectionUnknown, find("web", "abc", "c4").Selection, "R8")
	replicaSets.synced = false
	require.True(t, find("upstreams", "", "c1").Exists, "before they have synced, the API server is asked")
	require.NotEmpty(t, owners.client.Actions())
}

// Until the ManagedClusters are known, every cluster counts as registered and away.
func TestAvailability(t *testing.T) {
	owners := newOwners(t)
	cluster := func(name string, available metav1.ConditionStatus) *clusterv1.ManagedCluster {
		return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: clusterv1.ManagedClusterStatus{
			Conditions: []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: available}},
		}}
	}
	clusters := newFilled(t, nil, cluster("c1", metav1.ConditionTrue), cluster("c2", metav1.ConditionUnknown))
	check := func(wanted map[string][]bool) {
		for name, want := range wanted {
			available, exists := owners.Available(t.Context(), name)
			require.Equal(t, want, []bool{available, exists}, name)
		}
	}
	check(map[string][]bool{"c1": {false, true}})
	owners.UseCaches(Caches{Clusters: clusters})
	check(map[string][]bool{"c1": {true, true}, "c2": {false, true}, "c3": {false, false}})
	clusters.synced = false
	check(map[string][]bool{"c1": {false, true}, "c3": {false, true}})
}
