package upgrade

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

func TestObjectsThatGo(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.starts("v1.0.0")
	now := metav1.Now()
	w.edit("a", func(set *workv1alpha1.ManifestWorkReplicaSet) { set.DeletionTimestamp = &now })
	w.refuse = func(write string) error {
		if write == "patch manifestworkreplicasets b" {
			return apierrors.NewNotFound(resources, "b")
		}
		return nil
	}
	w.starts("v1.1.0")
	require.Equal(t, []string{"patch manifestworkreplicasets c", "patch configmaps work-hub-current-version"}, w.writes)
}

func TestUnreadableObject(t *testing.T) {
	w := newWorld(t, "a", "b")
	object, err := w.dynamic.Tracker().Get(workv1alpha1.ManifestWorkReplicaSetResource, "default", "a")
	require.NoError(t, err)
	broken := object.(*unstructured.Unstructured).DeepCopy()
	require.NoError(t, unstructured.SetNestedField(broken.Object, "x", "spec", "manifestWorkTemplate", "workload"))
	require.NoError(t, w.dynamic.Tracker().Update(workv1alpha1.ManifestWorkReplicaSetResource, broken, "default"))
	w.starts("v1.0.0")
	w.starts("v1.1.0")
	for _, name := range []string{"a", "b"} {
		u, err := w.dynamic.Tracker().Get(workv1alpha1.ManifestWorkReplicaSetResource, "default", name)
		require.NoError(t, err)
		require.Contains(t, u.(*unstructured.Unstructured).GetAnnotations(), workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0", name)
	}
}

func TestWithoutAHistory(t *testing.T) {
	w := newWorld(t, "a")
	w.kube.PrependReactor("list", "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
	w.starts("v1.0.0")
	w.starts("v1.1.0")
	w.edit("a", func(set *workv1alpha1.ManifestWorkReplicaSet) { set.Status.Ledger, set.Status.CurrentRevision = "", "" })
	w.starts("v1.0.0")
	require.NotEmpty(t, w.get("a").Status.CurrentRevision)
	require.EqualValues(t, 5, w.ledger("a").Seq)
}

func TestListsAreLean(t *testing.T) {
	w := newWorld(t, "a")
	listed, err := w.runner("v1.0.0").list(t.Context())
	require.NoError(t, err)
	require.Len(t, listed, 1)
	require.Empty(t, listed[0].Spec)
	require.Len(t, listed[0].History.Revisions, 1)
	require.Nil(t, listed[0].History.Revisions[0].Object.Data.Raw)
	require.Equal(t, listed[0].Status.Ledger, listed[0].History.Revisions[0].Object.Annotations[workv1alpha1.AnnotationLedger])
	require.Equal(t, completed, listed[0].History.Revisions[0].Ended)
}
