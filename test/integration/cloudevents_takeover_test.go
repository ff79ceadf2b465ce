package integration

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/internal/manager"
)

// Upstream's hub put everything there, by the same broker. Its works have no hash, so nobody knows what they hold: each cluster is sent
// the template when its turn comes, and nothing changes there.
func TestCloudEventsTakesOverFromUpstream(t *testing.T) {
	t.Parallel()
	f, b := newMQTTFleet(t, "mqtt-takeover")
	f.stopHub()
	stop := f.w.start(context.WithoutCancel(t.Context()), manager.UpstreamOverBroker("mqtt", b.sourceConfig(), "upstream"))

	mwrs := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: f.name, Namespace: f.namespace}}
	mwrs.Spec.ManifestWorkTemplate = realTemplate("v1", true)
	mwrs.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref("p1", progressive(1, "10s", 0, abortAll))}
	_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Create(t.Context(), mwrs, metav1.CreateOptions{})
	require.NoError(t, err)
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
	stop()

	clusters, before := f.onClusters(), f.sent.works()
	f.startHub()
	f.complete()
	f.quiet()
	require.Equal(t, clusters, f.onClusters(), "nothing changed on the clusters")
	require.Len(t, f.sent.works(), len(before)+2, "each cluster was sent the template once")

	f.roll("v2", false)
	f.aborted()
	f.confirmed()
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
}
