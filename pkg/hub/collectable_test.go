package hub

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/work/hub/controllers/manifestworkgarbagecollection"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"github.com/open-cluster-management-io/work-rollback/internal/worktest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestCollectsNoOwnedWorks: OCM's garbage collection deletes a completed work of a user, but none that has either owner label.
func TestCollectsNoOwnedWorks(t *testing.T) {
	completed := func(name string, labels map[string]string) *workv1.ManifestWork {
		work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: name, Labels: labels}}
		work.Spec.DeleteOption = &workv1.DeleteOption{TTLSecondsAfterFinished: ptr.To(int64(0))}
		work.Status.Conditions = []metav1.Condition{{Type: workv1.WorkComplete, Status: metav1.ConditionTrue}}
		return work
	}
	works := []*workv1.ManifestWork{
		completed("somebody", nil),
		completed("old", map[string]string{workv1alpha1.LabelReplicaSet: "default.web"}),
		completed("new", map[string]string{workv1alpha1.LabelOwnerHash: workv1alpha1.OwnerHash("default", "web")}),
	}
	client := worktest.Client(works[0], works[1], works[2])
	informer, err := newWorkInformer(client)
	require.NoError(t, err)
	collection := manifestworkgarbagecollection.NewManifestWorkGarbageCollectionController(client, collectable{informer})
	for _, work := range works {
		require.NoError(t, informer.Informer().GetStore().Add(work))
		require.NoError(t, collection.Sync(t.Context(), factory.NewSyncContext("test"), "c1/"+work.Name))
	}
	_, err = collectable{informer}.Lister().ManifestWorks("c1").Get("new")
	require.True(t, apierrors.IsNotFound(err))
	var deleted []string
	for _, action := range client.Actions() {
		if of, ok := action.(clienttesting.DeleteAction); ok {
			deleted = append(deleted, of.GetName())
		}
	}
	require.Equal(t, []string{"somebody"}, deleted)
}
