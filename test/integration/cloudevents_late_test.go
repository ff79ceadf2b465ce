package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The hub and the broker restart during a rollout. The agents reconnect so late that the hub no longer waits for their reports. The hub
// does not know their works, so it sends unchanged works with a new generation. An agent applies a work only if its spec or a label
// changes, and reports Applied for a generation only after it has applied the work. If the agents did not apply these works again, healthy
// clusters would miss their deadline, and the hub would abort the rollout.
func TestCloudEventsAgentsReturnLate(t *testing.T) {
	t.Parallel()
	f, b := newMQTTFleet(t, "mqtt-late")
	f.start(progressive(2, "20s", 0, abortAll))

	f.rollGated("v2")
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	f.quiet()
	before := f.sent.works()
	f.stopHub()
	b.stop()
	f.open("c1", "v2")
	f.open("c2", "v2")
	clusters := f.onClusters()

	b.agentsKeptOut.Store(true)
	b.start()
	f.startHub()
	eventually(t, "the hub sends both works without a report from the agents", func() error {
		if works := f.sent.works(); len(works) != len(before)+2 {
			return fmt.Errorf("sent: %v", works)
		}
		return nil
	})
	b.agentsKeptOut.Store(false)
	f.complete()
	f.quiet()
	require.Equal(t, clusters, f.onClusters(), "nothing changed on the clusters")
	require.Len(t, f.sent.works(), len(before)+2, "each work was sent once")
}
