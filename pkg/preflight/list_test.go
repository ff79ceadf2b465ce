package preflight_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/preflight"
)

func dynamicClient(objects ...runtime.Object) *fake.FakeDynamicClient {
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		workv1alpha1.ManifestWorkReplicaSetResource:                                           "ManifestWorkReplicaSetList",
		{Group: clusterv1beta1.GroupName, Version: "v1beta1", Resource: "placementdecisions"}: "PlacementDecisionList",
	}, objects...)
}

func metadataClient(t *testing.T, objects ...runtime.Object) *metadatafake.FakeMetadataClient {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	return metadatafake.NewSimpleMetadataClient(scheme, objects...)
}

// List reads the objects that Leaving checks, and writes nothing. An object that does not fit the types is read as far as possible.
func TestList(t *testing.T) {
	objects := dynamicClient(
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": workv1alpha1.SchemeGroupVersion.String(), "kind": "ManifestWorkReplicaSet",
			"metadata": map[string]any{"namespace": "team-a", "name": "web"},
			"spec": map[string]any{
				"paused":        true,
				"placementRefs": []any{map[string]any{"name": "p1", "rolloutStrategy": map[string]any{"all": map[string]any{"minSuccessTime": "5 minutes"}}}},
			},
		}},
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": clusterv1beta1.GroupVersion.String(), "kind": "PlacementDecision",
			"metadata": map[string]any{"namespace": "team-a", "name": "p1-decision-1", "labels": map[string]any{clusterv1beta1.PlacementLabel: "p1"}},
			"status":   map[string]any{"decisions": []any{map[string]any{"clusterName": "c1", "reason": ""}}},
		}},
	)
	metadatas := metadataClient(t, &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWork"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "c1", Name: "web", Labels: map[string]string{workv1alpha1.LabelReplicaSet: "team-a.web"},
			Annotations: map[string]string{workv1alpha1.AnnotationKeptRevision: "aaa", "other": "text"},
		},
	}, &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWork"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "c2", Name: "web", Labels: map[string]string{workv1alpha1.LabelOwnerHash: workv1alpha1.OwnerHash("team-a", "web")},
			Annotations: map[string]string{workv1alpha1.AnnotationOwner: "team-a/web"},
		},
	})
	listed, err := preflight.List(t.Context(), objects, metadatas)
	require.NoError(t, err)
	require.Len(t, listed.ReplicaSets, 1)
	require.True(t, listed.ReplicaSets[0].Spec.Paused)
	require.Equal(t, map[string][]string{"team-a/p1": {"c1"}}, listed.Selected)
	require.Equal(t, []metav1.ObjectMeta{{
		Namespace: "c1", Name: "web", Labels: map[string]string{workv1alpha1.LabelReplicaSet: "team-a.web"},
		Annotations: map[string]string{workv1alpha1.AnnotationKeptRevision: "aaa", workv1alpha1.AnnotationOwner: ""},
	}, {
		Namespace: "c2", Name: "web", Labels: map[string]string{workv1alpha1.LabelOwnerHash: workv1alpha1.OwnerHash("team-a", "web")},
		Annotations: map[string]string{workv1alpha1.AnnotationKeptRevision: "", workv1alpha1.AnnotationOwner: "team-a/web"},
	}}, listed.Works)
	for _, action := range append(objects.Actions(), metadatas.Actions()...) {
		require.Equal(t, "list", action.GetVerb())
	}
}

// A failed list is an error that names the resource: an incomplete list would miss findings.
func TestListFails(t *testing.T) {
	objects := dynamicClient()
	objects.PrependReactor("list", "placementdecisions", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	_, err := preflight.List(t.Context(), objects, metadataClient(t))
	require.ErrorContains(t, err, "listing PlacementDecisions: forbidden")
}
