package integration

import (
	"errors"
	"fmt"
	"slices"
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

// R6, R7: a status writer and an agent together bring no content of that agent to the other clusters, and the event says what was put back.
func TestForgedCurrentRevisionReachesNoOtherCluster(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2", "c3"})
	f.create("v1", ref("p1", progressive(1, "5s", 0, abortAll)))
	before := f.complete()
	f.agentsReport("", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	f.editWork("c3", func(work *workv1.ManifestWork) {
		work.Labels[workv1alpha1.LabelControllerHash] = "forgedhash"
		work.Spec = template("forged")
	})
	f.editStatus(func(status *workv1alpha1.ManifestWorkReplicaSetStatus) { status.CurrentRevision = "forgedhash" })
	mwrs := f.aborted()
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	f.everywhere("v1")
	require.Equal(t, []string{"v1", "v2"}, f.recorded())
	eventually(t, "an event tells what was put back", func() error {
		if told := f.told(); !slices.Contains(told, workv1alpha1.EventCurrentRevisionIgnored) {
			return fmt.Errorf("the events are %v", told)
		}
		return nil
	})
	f.quiet()
}
