package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// A hub that was restarted during a rollout has not heard from the agent of a cluster that had succeeded and is now offline. The deadline
// of that cluster does not apply, and the rollout is not aborted.
func TestCloudEventsUnheardClusterIsNoFailure(t *testing.T) {
	t.Parallel()
	f, _ := newMQTTFleet(t, "mqtt-unheard")
	const deadline = 15 * time.Second
	f.start(progressive(1, deadline.String(), 0, abortAll))

	f.rollGated("v2")
	offline, online := f.first("v2")
	f.open(offline, "v2")
	f.deploys(map[string]string{online: "v2"})
	// Stop the hub first: until then, the deadline of the cluster in flight runs.
	f.stopHub()
	f.agents[offline].Stop()
	f.open(online, "v2")
	f.startHub()

	named := fmt.Sprintf("1 cluster (%s) with no report since this hub started", f.cluster(offline))
	// The hub waits half a minute for agents that do not respond, and names a cluster at most half a minute after its work was written. The
	// deadline usually comes first, but can be late on a busy machine.
	await.Eventually(t, 2*patience, "the hub names the cluster", func() error {
		if text := message(f.get(), workv1alpha1.ConditionProgressing); !strings.Contains(text, named) {
			return fmt.Errorf("%s", describe(f.get()))
		}
		return nil
	})
	always(t, "the deadline passes", 2*deadline+5*time.Second, func() error {
		if f.get().Status.AbortedTime != nil {
			return fmt.Errorf("aborted because of a cluster that the hub has not heard: %s", describe(f.get()))
		}
		return nil
	})
	require.Equal(t, "v2", f.deployed(online))
	require.Contains(t, message(f.get(), workv1alpha1.ConditionProgressing), named)
	f.quiet()

	f.agents[offline].Start()
	f.complete()
	f.deploys(map[string]string{offline: "v2", online: "v2"})
}
