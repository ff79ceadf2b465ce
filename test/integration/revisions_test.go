package integration

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// R2: what a revision looks like.
func TestRevisionOfATemplate(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.place("p1", []string{"c1"})
	f.create("v1", ref("p1", all("None", 0)))
	mwrs := f.complete()
	hash := revision.ComputeHash(&mwrs.Spec.ManifestWorkTemplate, nil)
	require.Equal(t, hash, mwrs.Status.CurrentRevision)
	require.Nil(t, mwrs.Status.CollisionCount)

	rev := f.revisionOf("v1")
	require.Equal(t, "web-"+hash, rev.Name)
	require.EqualValues(t, 1, rev.Revision)
	require.True(t, metav1.IsControlledBy(rev, mwrs))
	require.Equal(t, f.namespace+".web", rev.Labels[workv1alpha1.LabelReplicaSet])
	require.Equal(t, hash, rev.Labels[workv1alpha1.LabelControllerHash])
	require.Equal(t, "1", rev.Annotations[workv1alpha1.AnnotationGeneration])
	var data struct {
		Spec struct {
			ManifestWorkTemplate json.RawMessage `json:"manifestWorkTemplate"`
		} `json:"spec"`
	}
	require.NoError(t, json.Unmarshal(rev.Data.Raw, &data))
	require.NotEmpty(t, data.Spec.ManifestWorkTemplate)
}

// leaving waits until a cluster's work is being deleted.
func (f *fleet) leaving(short string) {
	f.t.Helper()
	eventually(f.t, "the work of "+short+" is being deleted", func() error {
		if f.work(short).DeletionTimestamp == nil {
			return fmt.Errorf("it is not")
		}
		return nil
	})
}

// R2: a name that another object has is counted as a collision, and another one is taken.
func TestHashCollision(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1", "c2"})
	wanted := f.stored("v1")
	taken := revision.ComputeHash(&wanted, nil)
	other := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: revision.Name(f.name, taken),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Namespace", Name: "default", UID: "00000000-0000-0000-0000-000000000000", Controller: ptr.To(true),
			}},
		},
		Data:     runtime.RawExtension{Raw: []byte(`{"spec":{}}`)},
		Revision: 7,
	}
	// A finalizer keeps the garbage collector from taking it: its owner is not there.
	other.Finalizers = []string{"example.com/test"}
	_, err := f.w.kube.AppsV1().ControllerRevisions(f.namespace).Create(t.Context(), other, metav1.CreateOptions{})
	require.NoError(t, err)

	f.create("v1", ref("p1", progressive(1, "10s", 0)))
	mwrs := f.complete()
	f.everywhere("v1")
	require.EqualValues(t, 1, ptr.Deref(mwrs.Status.CollisionCount, 0))
	require.Equal(t, revision.ComputeHash(&wanted, ptr.To[int32](1)), mwrs.Status.CurrentRevision)
	require.NotEqual(t, taken, mwrs.Status.CurrentRevision)
	f.quiet()

	f.update("v2")
	f.complete()
	f.update("v1")
	mwrs = f.complete()
	require.EqualValues(t, 1, ptr.Deref(mwrs.Status.CollisionCount, 0), "the revision is found by its content")
	require.Equal(t, revision.ComputeHash(&wanted, ptr.To[int32](1)), mwrs.Status.CurrentRevision)
}

// stored is a version's template as the API server stores it, with its defaults.
func (f *fleet) stored(version string) workv1.ManifestWorkSpec {
	f.t.Helper()
	mwrs := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "dry-run", Namespace: f.namespace}}
	mwrs.Spec.ManifestWorkTemplate = template(version)
	mwrs.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref("none", all("None", 0))}
	answer, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).
		Create(f.t.Context(), mwrs, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(f.t, err)
	return answer.Spec.ManifestWorkTemplate
}
