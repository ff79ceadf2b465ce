package cloudevents

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

func replicaSet(name string, status map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
		"metadata": map[string]any{"namespace": "ns", "name": name, "uid": "uid-of-" + name}, "status": status,
		"spec": map[string]any{"placementRefs": []any{map[string]any{"name": "p1"}, map[string]any{"name": "p2"}}},
	}}
}

// placement is a Placement that says to have selected so many clusters, and its one decision.
func placementIn(name string, selected int64, clusters ...string) []runtime.Object {
	var decisions []any
	for _, cluster := range clusters {
		decisions = append(decisions, map[string]any{"clusterName": cluster})
	}
	object := func(kind string, labels, status map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": kind,
			"metadata": map[string]any{"namespace": "ns", "name": name, "labels": labels}, "status": status,
		}}
	}
	return []runtime.Object{
		object("Placement", nil, map[string]any{"numberOfSelectedClusters": selected}),
		object("PlacementDecision", map[string]any{"cluster.open-cluster-management.io/placement": name}, map[string]any{"decisions": decisions}),
	}
}

type ownersRig struct {
	*LiveOwners
	client *dynamicfake.FakeDynamicClient
	clock  *clocktesting.FakePassiveClock
}

func newOwners(t *testing.T, revisions ...runtime.Object) *ownersRig {
	t.Helper()
	objects := append(placementIn("p1", 2, "c1", "c2"), placementIn("p2", 1, "c3")...)
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{
			workv1alpha1.ManifestWorkReplicaSetResource:                                                       "ManifestWorkReplicaSetList",
			{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Resource: "placements"}:         "PlacementList",
			{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Resource: "placementdecisions"}: "PlacementDecisionList",
		},
		append(objects,
			replicaSet("web", map[string]any{
				"updateRevision": "abc", "summary": map[string]any{"total": int64(3)}, "away": []any{map[string]any{"cluster": "c9", "placement": "p1"}},
			}),
			replicaSet("new", nil),
			replicaSet("begun", map[string]any{"updateRevision": "abc"}),
			replicaSet("upstreams", map[string]any{"summary": map[string]any{"total": int64(2)}}),
		)...)
	wiped := replicaSet("wiped", nil)
	wiped.SetFinalizers([]string{workv1alpha1.Finalizer})
	require.NoError(t, client.Tracker().Add(wiped))
	clk := clocktesting.NewFakePassiveClock(noon)
	return &ownersRig{NewLiveOwners(client, kubefake.NewClientset(revisions...), clk), client, clk}
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
			owner, err := owners.Find(t.Context(), Claim{Namespace: "ns", Name: test.owner, Hash: test.hash, Cluster: test.cluster})
			require.NoError(t, err)
			require.Equal(t, test.found, owner.Exists)
			require.Equal(t, test.selection, owner.Selection)
			require.Equal(t, test.has, owner.Template != nil)
			if test.has {
				require.Equal(t, wanted, *owner.Template)
			}
		})
	}
}

// While a Placement is missing, or decisions of it are, nobody knows that a cluster is not selected.
func TestSelectionIsNotKnown(t *testing.T) {
	resource := schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Resource: "placements"}
	for name, change := range map[string]func(*testing.T, *ownersRig){
		"no Placement": func(t *testing.T, o *ownersRig) {
			require.NoError(t, o.client.Resource(resource).Namespace("ns").Delete(t.Context(), "p2", metav1.DeleteOptions{}))
		},
		"a decision is missing": func(t *testing.T, o *ownersRig) {
			half := placementIn("p2", 2, "c3")[0].(*unstructured.Unstructured)
			_, err := o.client.Resource(resource).Namespace("ns").Update(t.Context(), half, metav1.UpdateOptions{})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			owners := newOwners(t)
			change(t, owners)
			owner, err := owners.Find(t.Context(), Claim{Namespace: "ns", Name: "web", Cluster: "c4"})
			require.NoError(t, err)
			require.Equal(t, SelectionUnknown, owner.Selection)
			owner, err = owners.Find(t.Context(), Claim{Namespace: "ns", Name: "web", Cluster: "c1"})
			require.NoError(t, err)
			require.Equal(t, Selected, owner.Selection)
		})
	}
}

// If references of an owner can't be read, nobody knows which clusters it selects.
func TestReferencesThatCantBeRead(t *testing.T) {
	owners := newOwners(t)
	odd := replicaSet("web", nil)
	require.NoError(t, unstructured.SetNestedSlice(odd.Object, []any{"not a ref"}, "spec", "placementRefs"))
	_, err := owners.client.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace("ns").Update(t.Context(), odd, metav1.UpdateOptions{})
	require.NoError(t, err)
	owner, err := owners.Find(t.Context(), Claim{Namespace: "ns", Name: "web", Cluster: "c4"})
	require.NoError(t, err)
	require.Equal(t, Owner{Exists: true, Selection: SelectionUnknown}, owner)
}

// Before the informers have synced, owners that agents make up cost one list of each collection, once in a while.
func TestOwnersThatAreMadeUp(t *testing.T) {
	owners := newOwners(t)
	find := func(name string) bool {
		owner, err := owners.Find(t.Context(), Claim{Namespace: "ns", Name: name, Cluster: "c1"})
		require.NoError(t, err)
		return owner.Exists
	}
	for i := range 50 {
		require.False(t, find(fmt.Sprintf("made-up-%d", i)))
	}
	require.True(t, find("web"))
	require.Len(t, owners.client.Actions(), 3)
	gone, err := owners.Gone(t.Context(), "ns", "made-up")
	require.NoError(t, err)
	require.True(t, gone)
	require.Len(t, owners.client.Actions(), 4, "before a deletion it is asked for now")
	owners.clock.SetTime(noon.Add(ownerFreshness))
	require.True(t, find("web"))
	require.Len(t, owners.client.Actions(), 7)
}

// What is remembered of revisions that agents make up is bounded.
func TestRevisionsThatAreMadeUp(t *testing.T) {
	owners := newOwners(t)
	for i := range maxRevisions {
		owners.revisions.Add(i, nil, time.Hour)
	}
	owner, err := owners.Find(t.Context(), Claim{Namespace: "ns", Name: "web", Hash: "made-up", Cluster: "c1"})
	require.NoError(t, err)
	require.Nil(t, owner.Template)
	require.LessOrEqual(t, len(owners.revisions.Keys()), maxRevisions)
}

// Only an API server that knows ManifestWorkReplicaSets can say that one is not there.
func TestAMissingCRDSaysNothingOfAnOwner(t *testing.T) {
	owners := newOwners(t)
	var answer error
	owners.client.PrependReactor("*", "manifestworkreplicasets", func(clienttesting.Action) (bool, runtime.Object, error) { return answer != nil, nil, answer })
	claim := Claim{Namespace: "ns", Name: "web", Cluster: "c1"}
	for _, err := range []error{
		apierrors.NewGenericServerResponse(http.StatusNotFound, "get", workv1alpha1.ManifestWorkReplicaSetResource.GroupResource(), "web", "404 page not found", 0, true),
		errors.New("connection refused"),
	} {
		answer = err
		_, err := owners.Find(t.Context(), claim)
		require.ErrorContains(t, err, "listing the manifestworkreplicasets")
		_, err = owners.Gone(t.Context(), "ns", "web")
		require.ErrorContains(t, err, "asking for ManifestWorkReplicaSet ns/web")
	}
	found := func() bool {
		owner, err := owners.Find(t.Context(), claim)
		require.NoError(t, err)
		return owner.Exists
	}
	answer = nil
	require.True(t, found())
	answer = nil
	require.NoError(t, owners.client.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace("ns").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	require.True(t, found(), "it was there a moment ago")
	owners.clock.SetTime(noon.Add(ownerFreshness + time.Second))
	require.False(t, found())
}

func TestExpectedWorks(t *testing.T) {
	owners := newOwners(t)
	expected, err := owners.Expected(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"ns.web": 3, "ns.begun": 0, "ns.wiped": 0, "ns.upstreams": 2}, expected)
}
