package cloudevents

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// A hub that takes over from OCM's hub does not know the revision of any work at first. It keeps what the agents report until each work's
// turn, and the memory for that is limited. What the agents report of works that this hub has written must still be read: a cluster that
// succeeds would fail. So the hub keeps only a small part of a report about many objects.
func TestReportOfAnUnknownWorkTakesLittleMemory(t *testing.T) {
	const objects = 64
	s := newSteps(t)
	s.owners = fakeOwners{"production/web": &workv1.ManifestWorkSpec{}}
	work := owned("c1", "")
	work.UID, work.Generation = workUID(work.Namespace, work.Name), 1
	work.Labels = map[string]string{workv1alpha1.LabelReplicaSet: "production.web", workv1alpha1.LabelPlacement: "production"}
	work.Annotations = nil
	work.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, 1), condition(workv1.WorkAvailable, 1)}
	for object := range objects {
		work.Status.ResourceStatus.Manifests = append(work.Status.ResourceStatus.Manifests, workv1.ManifestCondition{
			ResourceMeta: workv1.ManifestResourceMeta{
				Ordinal: int32(object), Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments",
				Name: fmt.Sprintf("web-%d", object), Namespace: "production",
			},
			Conditions: []metav1.Condition{condition(workv1.ManifestApplied, 1), condition(workv1.ManifestAvailable, 1)},
		})
	}
	s.Receive(t.Context(), s.wire.report(t, work))
	s.work()
	require.NotNil(t, s.store.reports[work.UID], "it is kept")
	require.Less(t, s.store.bytes, 5<<10, "bytes")
}
