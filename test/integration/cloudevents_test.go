package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// tellsStory plays a rollout, an update, an abort and an undo, with a hub that loses its memory in between.
func (f *eventFleet) tellsStory() {
	f.t.Helper()
	f.start(progressive(1, "8s", 0, abortAll))
	f.quiet()
	before := f.sent.works()
	require.Len(f.t, before, 2, "one work for each cluster")

	f.restart()
	f.quiet()
	f.complete()
	f.unsent(before, "a restart writes nothing where all is complete")

	f.roll("v2", true)
	f.complete()
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	require.Equal(f.t, 2, f.get().Status.Summary.Total)

	f.roll("v3", false)
	f.aborted()
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	f.confirmedBy("2 of 2 clusters")
	f.quiet()
	before = f.sent.works()
	require.Len(f.t, before, 6, "v1 and v2 everywhere, v3 to one cluster and back")

	f.restart()
	f.quiet()
	f.aborted()
	f.confirmedBy("2 of 2 clusters")
	f.unsent(before, "a restart writes nothing where all is aborted")

	f.roll("v1", true)
	f.complete()
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
	require.Equal(f.t, []string{"v2", "v3", "v1"}, f.recorded())
	f.quiet()
	require.Len(f.t, f.sent.works(), 8)

	f.delete()
	f.gone()
	f.deploys(map[string]string{"c1": "", "c2": ""})
	f.restart()
	require.Empty(f.t, f.works(), "no ManifestWork was ever in the hub's API server")
}

func TestCloudEventsMQTT(t *testing.T) {
	t.Parallel()
	f, _ := newMQTTFleet(t, "mqtt")
	f.tellsStory()
}

// A hub that is restarted during a rollout or an abort does not make decisions until it has restored its state.
func TestCloudEventsHubForgetsInTheMiddle(t *testing.T) {
	t.Parallel()
	f, b := newMQTTFleet(t, "mqtt-middle")
	f.start(progressive(1, "20s", 0, abortAll))

	// During a rollout: one cluster is in progress, the other cluster waits.
	f.rollGated("v2")
	first, other := f.first("v2")
	f.rolling(workv1alpha1.ReasonNewRevisionCreated)
	before := f.sent.works()
	f.restart()
	f.quiet()
	f.rolling(workv1alpha1.ReasonNewRevisionCreated)
	f.unsent(before, "nothing is sent twice, and no agent joins")
	f.open(first, "v2")
	f.deploys(map[string]string{other: "v2"})
	f.open(other, "v2")
	f.complete()
	require.Len(t, f.sent.works(), 4)

	// The hub is killed when the abort is decided, but no cluster is restored yet.
	f.stopHub()
	f.startHub(f.killedByAbort)
	f.roll("v3", false)
	first, other = f.first("v3")
	eventually(t, "the abort is decided", func() error {
		if f.get().Status.AbortedTime == nil {
			return fmt.Errorf("%s", describe(f.get()))
		}
		return nil
	})
	f.stopHub()
	require.Equal(t, "v3", f.deployed(first))
	// The cluster's agent is offline, and the broker is unavailable for a moment: agents connect after the hub requested their works.
	f.agents[first].Stop()
	b.stop()
	b.start()
	before = f.sent.works()
	f.startHub()
	f.aborted()
	require.Len(t, f.sent.works(), len(before)+1, "only the cluster that must go back")
	f.agents[first].Start()
	f.confirmedBy("2 of 2 clusters")
	f.deploys(map[string]string{first: "v2", other: "v2"})
	f.quiet()
	require.Len(t, f.sent.works(), len(before)+1)
}

// While the broker is unavailable, no report reaches the hub. A cluster that succeeds in that time must not count as failed. A real failure
// still counts afterwards.
func TestCloudEventsBrokerAway(t *testing.T) {
	t.Parallel()
	f, b := newMQTTFleet(t, "mqtt-away")
	const deadline = 15 * time.Second
	f.start(progressive(1, deadline.String(), 0, abortAll))

	f.rollGated("v2")
	first, other := f.first("v2")
	b.stop()
	f.agents[first].Stop()
	f.open(first, "v2")
	standing := func() error {
		if f.get().Status.AbortedTime != nil {
			return fmt.Errorf("aborted because the broker was away: %s", describe(f.get()))
		}
		return nil
	}
	always(t, "the deadline passes", deadline+2*time.Second, standing)
	b.start()
	eventually(t, "the hub is connected again", func() error {
		if _, connected := b.server.Clients.Get(f.options.CloudEventsClientID); !connected {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	// The agent takes longer to reconnect than the hub.
	always(t, "there is no abort", 4*time.Second, standing)
	f.agents[first].Start()
	f.deploys(map[string]string{other: "v2"})
	f.open(other, "v2")
	f.complete()

	// A version that is written while the broker is unavailable arrives when the broker returns.
	b.stop()
	f.roll("v3", false)
	f.state("AsExpected=True", "NotAsExpected=False", "NewRevisionCreated=True", "Progressing=False")
	require.Contains(t, message(f.get(), workv1alpha1.ConditionProgressing), "the broker is not connected")
	b.start()
	back := time.Now()
	f.first("v3")
	f.aborted()
	require.GreaterOrEqual(t, time.Since(back), deadline)
	f.confirmedBy("2 of 2 clusters")
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	f.quiet()
}

// An agent keeps its state only in memory. When it is restarted, it reports an old success piece by piece, which must not count as a
// failure.
func TestCloudEventsAgentRestarts(t *testing.T) {
	t.Parallel()
	f, _ := newMQTTFleet(t, "mqtt-agent")
	const deadline = 8 * time.Second
	f.start(progressive(1, deadline.String(), 0, abortAll))
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.ManifestWorkTemplate = realTemplate("v2", true)
		mwrs.Spec.PlacementRefs[0].RolloutStrategy.Progressive.MinSuccessTime = metav1.Duration{Duration: 2 * deadline}
	})
	first, _ := f.first("v2")
	written := time.Now()
	eventually(t, "the deadline is over, the soak is not", func() error {
		if passed := time.Since(written); passed < deadline+time.Second {
			return fmt.Errorf("%s passed", passed)
		}
		return nil
	})
	f.agents[first].Stop()
	f.agents[first].Start()
	mwrs := f.complete()
	require.Equal(t, f.hash("v2"), mwrs.Status.CurrentRevision)
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	require.Len(t, f.sent.works(), 4)
}
