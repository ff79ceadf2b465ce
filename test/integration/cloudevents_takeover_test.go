package integration

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/test/internal/manager"
)

// Upstream's hub created everything over the same broker. Its works have no hash, so their contents are unknown: each cluster is sent the
// template when its turn comes, and nothing changes on the cluster.
func TestCloudEventsTakesOverFromUpstream(t *testing.T) {
	t.Parallel()
	f, b := newMQTTFleet(t, "mqtt-takeover")
	f.stopHub()
	stop := f.w.start(context.WithoutCancel(t.Context()), manager.UpstreamOverBroker("mqtt", b.sourceConfig(), "upstream"))

	f.createOf(realTemplate("v1", true), ref("p1", progressive(1, "10s", 0, abortAll)))
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
	f.confirmedBy("2 of 2 clusters")
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
}
