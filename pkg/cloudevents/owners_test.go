package cloudevents

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// replicaSet returns a ManifestWorkReplicaSet in namespace ns, with the Placements p1 and p2.
func replicaSet(name string, status map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
		"metadata": map[string]any{"namespace": "ns", "name": name, "uid": "uid-of-" + name}, "status": status,
		"spec": map[string]any{"placementRefs": []any{map[string]any{"name": "p1"}, map[string]any{"name": "p2"}}},
	}}
}

// ownersRig has caches that a test fills, and an API server that knows the ManifestWorkReplicaSet "web".
type ownersRig struct {
	*Caches
	t      *testing.T
	client *dynamicfake.FakeDynamicClient
}

func newOwners(t *testing.T, revisions ...*appsv1.ControllerRevision) *ownersRig {
	t.Helper()
	indexer := func(indexers cache.Indexers) cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	}
	web := replicaSet("web", map[string]any{
		"updateRevision": "abc", "summary": map[string]any{"total": int64(3)}, "away": []any{map[string]any{"cluster": "c9", "placement": "p1"}},
	})
	o := &ownersRig{NewCaches(), t, dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), web)}
	o.ReplicaSets, o.Placements, o.Revisions, o.Client = indexer(nil), indexer(nil), indexer(nil), o.client
	o.Decisions = indexer(replicaset.DecisionIndexers())
	wiped := replicaSet("wiped", nil)
	wiped.SetFinalizers([]string{workv1alpha1.Finalizer})
	for _, object := range []*unstructured.Unstructured{
		web, wiped, replicaSet("new", nil), replicaSet("begun", map[string]any{"updateRevision": "abc"}),
		replicaSet("upstreams", map[string]any{"summary": map[string]any{"total": int64(2)}}),
	} {
		require.NoError(t, o.ReplicaSets.Add(replicaset.Decode(object)))
	}
	for _, object := range revisions {
		require.NoError(t, o.Revisions.Add(object))
	}
	o.place("p1", 2, "c1", "c2")
	o.place("p2", 1, "c3")
	return o
}

// place sets a Placement whose status reports the given number of selected clusters, and its only PlacementDecision.
func (o *ownersRig) place(name string, selected int32, clusters ...string) {
	o.t.Helper()
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	placement.Status.NumberOfSelectedClusters = selected
	decision := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: map[string]string{clusterv1beta1.PlacementLabel: name},
	}}
	for _, cluster := range clusters {
		decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
	}
	require.NoError(o.t, o.Placements.Update(placement))
	require.NoError(o.t, o.Decisions.Update(decision))
}

func (o *ownersRig) find(name, hash, cluster string) Owner {
	o.t.Helper()
	owner, err := o.Find(o.t.Context(), Claim{Namespace: "ns", Name: name, Hash: hash, Cluster: cluster})
	require.NoError(o.t, err)
	return owner
}

func testRevision(t *testing.T, hash string) *appsv1.ControllerRevision {
	t.Helper()
	template := spec(hash)
	owner := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid-of-web"}}
	made, err := revision.New(owner, &template, hash, 1)
	require.NoError(t, err)
	made.UID = types.UID("uid-of-" + hash)
	return made
}

func TestOwnersAreFound(t *testing.T) {
	unreadable, others, nobodys := testRevision(t, "bad"), testRevision(t, "others"), testRevision(t, "nobodys")
	unreadable.Data.Raw = []byte(`{}`)
	others.OwnerReferences[0].UID = "uid-of-one-before"
	nobodys.OwnerReferences = nil
	owners := newOwners(t, testRevision(t, "abc"), unreadable, others, nobodys)
	wanted := spec("abc")
	for name, test := range map[string]struct {
		owner, hash, cluster string
		found                bool
		selection            Selection
		has                  bool
	}{
		"with its revision":                         {"web", "abc", "c1", true, Selected, true},
		"again, from memory":                        {"web", "abc", "c1", true, Selected, true},
		"by its second Placement":                   {"web", "abc", "c3", true, Selected, true},
		"with a revision that is lost":              {"web", "def", "c1", true, Selected, false},
		"with an unreadable revision":               {"web", "bad", "c1", true, Selected, false},
		"with a revision that another one controls": {"web", "others", "c1", true, Selected, false},
		"with a revision that nothing controls":     {"web", "nobodys", "c1", true, Selected, false},
		"without a hash":                            {"web", "", "c1", true, Selected, false},
		"by a cluster that is away":                 {"web", "abc", "c9", true, Selected, true},
		"by a cluster that it does not select":      {"web", "abc", "c4", true, Unselected, false},
		"not at all":                                {"gone", "abc", "c1", false, SelectionUnknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			owner := owners.find(test.owner, test.hash, test.cluster)
			require.Equal(t, test.found, owner.Exists)
			require.Equal(t, test.selection, owner.Selection)
			require.Equal(t, test.has, owner.Template != nil)
			if test.has {
				require.Equal(t, wanted, *owner.Template)
			}
		})
	}
	require.Empty(t, owners.client.Actions(), "owners and revisions that agents make up cost no request")
}

// While a Placement or some of its decisions are missing, the hub can't conclude that a cluster is not selected.
func TestSelectionIsNotKnown(t *testing.T) {
	for name, change := range map[string]func(*ownersRig) error{
		"no Placement": func(o *ownersRig) error {
			return o.Placements.Delete(&clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p2"}})
		},
		"a decision is missing": func(o *ownersRig) error {
			o.place("p2", 2, "c3")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			owners := newOwners(t)
			require.NoError(t, change(owners))
			require.Equal(t, SelectionUnknown, owners.find("web", "", "c4").Selection)
			require.Equal(t, Selected, owners.find("web", "", "c1").Selection)
		})
	}
}

// If the placementRefs of an owner can't be read, its selection is unknown.
func TestReferencesThatCantBeRead(t *testing.T) {
	owners := newOwners(t)
	odd := replicaSet("web", nil)
	require.NoError(t, unstructured.SetNestedSlice(odd.Object, []any{"not a ref"}, "spec", "placementRefs"))
	require.NoError(t, owners.ReplicaSets.Update(replicaset.Decode(odd)))
	require.Equal(t, Owner{Exists: true, Selection: SelectionUnknown}, owners.find("web", "", "c4"))
}

// A 404 proves that a ManifestWorkReplicaSet does not exist only if the API server serves ManifestWorkReplicaSets.
func TestAMissingCRDSaysNothingOfAnOwner(t *testing.T) {
	owners := newOwners(t)
	var answer error
	owners.client.PrependReactor("*", "manifestworkreplicasets", func(clienttesting.Action) (bool, runtime.Object, error) { return answer != nil, nil, answer })
	for _, err := range []error{
		apierrors.NewGenericServerResponse(http.StatusNotFound, "get", workv1alpha1.ManifestWorkReplicaSetResource.GroupResource(), "web", "404 page not found", 0, true),
		errors.New("connection refused"),
	} {
		answer = err
		_, err := owners.Gone(t.Context(), "ns", "web")
		require.ErrorContains(t, err, "asking for ManifestWorkReplicaSet ns/web")
	}
	answer = nil
	for name, wanted := range map[string]bool{"web": false, "made-up": true} {
		gone, err := owners.Gone(t.Context(), "ns", name)
		require.NoError(t, err)
		require.Equal(t, wanted, gone)
	}
}

func TestExpectedWorks(t *testing.T) {
	require.Equal(t, map[string]int{"ns.web": 3, "ns.begun": 0, "ns.wiped": 0, "ns.upstreams": 2}, newOwners(t).Expected())
}

// unsynced is an informer that has not synced yet.
type unsynced struct{ cache.SharedInformer }

func (unsynced) HasSynced() bool { return false }

// synced is an informer whose store a test has filled.
type synced struct{ cache.SharedInformer }

func (synced) HasSynced() bool { return true }

// Until the ManagedClusters are known, every cluster counts as registered and away.
func TestAvailability(t *testing.T) {
	owners := newOwners(t)
	clusters := cache.NewSharedInformer(&cache.ListWatch{}, &clusterv1.ManagedCluster{}, 0)
	for name, available := range map[string]metav1.ConditionStatus{"c1": metav1.ConditionTrue, "c2": metav1.ConditionUnknown} {
		cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: available}}
		require.NoError(t, clusters.GetStore().Add(cluster))
	}
	check := func(wanted map[string][]bool) {
		for name, want := range wanted {
			available, exists := owners.Available(t.Context(), name)
			require.Equal(t, want, []bool{available, exists}, name)
		}
	}
	owners.Clusters = unsynced{clusters}
	check(map[string][]bool{"c1": {false, true}, "c3": {false, true}})
	owners.Clusters = synced{clusters}
	check(map[string][]bool{"c1": {true, true}, "c2": {false, true}, "c3": {false, false}})
}
