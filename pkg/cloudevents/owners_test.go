package cloudevents

import (
	"errors"
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
		"metadata": map[string]any{"namespace": "ns", "name": name}, "status": status,
	}}
}

func newOwners(t *testing.T, revisions ...runtime.Object) (*LiveOwners, *dynamicfake.FakeDynamicClient, *kubefake.Clientset, *clocktesting.FakePassiveClock) {
	t.Helper()
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{workv1alpha1.ManifestWorkReplicaSetResource: "ManifestWorkReplicaSetList"},
		replicaSet("web", map[string]any{"updateRevision": "abc", "summary": map[string]any{"total": int64(3)}}),
		replicaSet("new", nil),
		replicaSet("begun", map[string]any{"updateRevision": "abc"}),
		replicaSet("upstreams", map[string]any{"summary": map[string]any{"total": int64(2)}}),
	)
	kube := kubefake.NewClientset(revisions...)
	clk := clocktesting.NewFakePassiveClock(noon)
	return NewLiveOwners(client, kube, clk), client, kube, clk
}

func testRevision(t *testing.T, hash string) *appsv1.ControllerRevision {
	t.Helper()
	template := spec(hash)
	owner := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
	made, err := revision.New(owner, &template, hash, 1)
	require.NoError(t, err)
	return made
}

func TestOwnersAreFound(t *testing.T) {
	unreadable := testRevision(t, "bad")
	unreadable.Data.Raw = []byte(`{}`)
	owners, _, _, _ := newOwners(t, testRevision(t, "abc"), unreadable)
	wanted := spec("abc")
	for name, test := range map[string]struct {
		owner, hash string
		found, has  bool
	}{
		"with its revision":            {"web", "abc", true, true},
		"again, from memory":           {"web", "abc", true, true},
		"with a revision that is lost": {"web", "def", true, false},
		"with an unreadable revision":  {"web", "bad", true, false},
		"without a hash":               {"web", "", true, false},
		"not at all":                   {"gone", "abc", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			found, template, err := owners.Find(t.Context(), "ns", test.owner, test.hash)
			require.NoError(t, err)
			require.Equal(t, test.found, found)
			require.Equal(t, test.has, template != nil)
			if test.has {
				require.Equal(t, wanted, *template)
			}
		})
	}
}

// Only an API server that knows ManifestWorkReplicaSets can say that one is not there.
func TestAMissingCRDSaysNothingOfAnOwner(t *testing.T) {
	owners, client, _, clk := newOwners(t)
	var answer error
	client.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return answer != nil, nil, answer })
	for _, err := range []error{
		apierrors.NewGenericServerResponse(http.StatusNotFound, "get", workv1alpha1.ManifestWorkReplicaSetResource.GroupResource(), "web", "404 page not found", 0, true),
		errors.New("connection refused"),
	} {
		answer = err
		_, _, err := owners.Find(t.Context(), "ns", "web", "")
		require.ErrorContains(t, err, "asking for ManifestWorkReplicaSet ns/web")
	}
	answer = nil
	found, _, err := owners.Find(t.Context(), "ns", "web", "")
	require.NoError(t, err)
	require.True(t, found)
	answer = apierrors.NewNotFound(workv1alpha1.ManifestWorkReplicaSetResource.GroupResource(), "web")
	found, _, err = owners.Find(t.Context(), "ns", "web", "")
	require.NoError(t, err)
	require.True(t, found, "it was there a moment ago")
	clk.SetTime(noon.Add(ownerFreshness + time.Second))
	found, _, err = owners.Find(t.Context(), "ns", "web", "")
	require.NoError(t, err)
	require.False(t, found)
}

func TestExpectedWorks(t *testing.T) {
	owners, _, _, _ := newOwners(t)
	expected, err := owners.Expected(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"ns.web": 3, "ns.begun": 0, "ns.upstreams": 2}, expected)
}
