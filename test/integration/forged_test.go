package integration

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// R6: an agent may change its works on the hub, their labels too. One that gives a work of its own the owner label of an object that is
// still to be created, and then fails the first rollout, must not have the other clusters brought "back" to its spec.
func TestForgedWorkIsNoHistory(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1", "c2"})
	f.agentsReport("c1", "v1", hangs)
	works := f.w.works.WorkV1().ManifestWorks(f.cluster("c1"))
	forged := &workv1.ManifestWork{Spec: template("forged")}
	forged.Name = "anything"
	forged.Labels = map[string]string{workv1alpha1.LabelReplicaSet: workv1alpha1.OwnerLabelValue(f.namespace, f.name)}
	_, err := works.Create(t.Context(), forged, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "the forged work succeeds, and is older than what is to be created", func() error {
		found, err := works.Get(t.Context(), forged.Name, metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case !meta.IsStatusConditionTrue(found.Status.Conditions, workv1.WorkAvailable):
			return errors.New("it is not available")
		case time.Since(found.CreationTimestamp.Time) < time.Second:
			return errors.New("the API server's times are whole seconds")
		}
		return nil
	})

	f.create("v1", ref("p1", all("2s", 0, abortAll)))
	mwrs := f.stalled()
	require.Empty(t, mwrs.Status.CurrentRevision)
	require.Equal(t, []string{"v1"}, f.recorded())
	f.everywhere("v1")
	f.quiet()
}
