package integration

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	cloudeventsmqtt "github.com/cloudevents/sdk-go/protocol/mqtt_paho/v2"
	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/eclipse/paho.golang/paho"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/mqtt"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	works "github.com/open-cluster-management-io/work-rollback/pkg/cloudevents"
	"github.com/open-cluster-management-io/work-rollback/pkg/connectivity"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
)

// inTime is the longest wait of an honest agent while another agent attacks. It is shorter than the time after which the hub resends
// anything.
const inTime = 10 * time.Second

// mqttClient is one connection to a broker with the certificate of a user. lost is closed when the connection ends.
type mqttClient struct {
	*paho.Client
	lost chan struct{}
}

// dial connects with the certificate of a user, under any client ID.
func (b *broker) dial(ctx context.Context, configFile, clientID string, heard func(*paho.Publish)) (*mqttClient, error) {
	options, err := mqtt.BuildMQTTOptionsFromFlags(configFile)
	if err != nil {
		return nil, err
	}
	conn, err := options.Dialer.Dial()
	if err != nil {
		return nil, err
	}
	c := &mqttClient{lost: make(chan struct{})}
	end := sync.OnceFunc(func() { close(c.lost) })
	c.Client = paho.NewClient(paho.ClientConfig{
		ClientID: clientID, Conn: conn, PacketTimeout: inTime,
		OnClientError: func(error) { end() }, OnServerDisconnect: func(*paho.Disconnect) { end() },
	})
	if heard != nil {
		c.AddOnPublishReceived(func(p paho.PublishReceived) (bool, error) {
			heard(p.Packet)
			return true, nil
		})
	}
	ctx, cancel := context.WithTimeout(ctx, inTime)
	defer cancel()
	if _, err := c.Connect(ctx, options.GetMQTTConnectOption(clientID)); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

// keepListening is an agent that reconnects whenever it is cut off, until the context ends. It does not use sdk-go's transport, which may
// receive nothing after a reconnect.
func (b *broker) keepListening(ctx context.Context, configFile, clientID, topic string, heard func(*paho.Publish)) {
	for ctx.Err() == nil {
		c, err := b.dial(ctx, configFile, clientID, heard)
		if err != nil {
			continue
		}
		_, err = c.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: topic, QoS: 1}}})
		if err == nil {
			select {
			case <-c.lost:
			case <-ctx.Done():
			}
		}
		_ = c.Disconnect(&paho.Disconnect{})
	}
}

// A client with the certificate of one cluster can't end the connection of another cluster: regardless of its client ID, every write by the
// hub arrives.
func TestMosquittoClientIDsAreNotStolen(t *testing.T) {
	t.Parallel()
	b := newMosquitto(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	var mu sync.Mutex
	arrived := map[string]bool{}
	victim, thief := b.agentConfig("cluster1"), b.agentConfig("cluster2")
	running.Go(func() {
		b.keepListening(ctx, victim, "cluster1-work-agent", "sources/mwrsctrl/clusters/cluster1/sourceevents", func(p *paho.Publish) {
			mu.Lock()
			defer mu.Unlock()
			for _, header := range p.Properties.User {
				if header.Key == "ce-resourceid" {
					arrived[header.Value] = true
				}
			}
		})
	})
	running.Go(func() {
		for ctx.Err() == nil {
			if c, err := b.dial(ctx, thief, "cluster1-work-agent", nil); err == nil {
				_ = c.Disconnect(&paho.Disconnect{})
			}
		}
	})

	hub, err := works.New(works.Options{
		Type: "mqtt", ConfigFile: b.sourceConfig(), ClientID: "work-controller-0", Owners: noOwners{}, Connection: connectivity.New(clock.RealClock{}),
		AgentReturn: agentReturn, Clock: clock.RealClock{}, Metrics: metrics.New(),
	})
	require.NoError(t, err)
	hub.Start(ctx)
	require.Eventually(t, hub.Reachable, time.Minute, 10*time.Millisecond, "the hub is connected")
	create := func(name string) {
		work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: template("v1")}
		_, err := hub.Works().WorkV1().ManifestWorks("cluster1").Create(ctx, work, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	got := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(arrived)
	}
	n := 0
	eventually(t, "the agent listens", func() error {
		create(fmt.Sprintf("probe-%d", n))
		n++
		if got() == 0 {
			return fmt.Errorf("none of %d arrived", n)
		}
		return nil
	})
	mu.Lock()
	clear(arrived)
	mu.Unlock()
	const writes = 40
	for i := range writes {
		create(fmt.Sprintf("work-%d", i))
	}
	deadline := time.Now().Add(inTime)
	eventually(t, "every write arrives", func() error {
		if here := got(); here < writes {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d writes arrived", here, writes)
			}
			return fmt.Errorf("%d of %d", here, writes)
		}
		return nil
	})
}

// noOwners has no ManifestWorkReplicaSets.
type noOwners struct{}

func (noOwners) Find(context.Context, works.Claim) (works.Owner, error) { return works.Owner{}, nil }
func (noOwners) Gone(context.Context, string, string) (bool, error)     { return false, nil }

// attacker has the certificate of a cluster's agent, and reconnects when the broker disconnects it.
type attacker struct {
	t       *testing.T
	b       *broker
	cluster string
	config  string
	client  *mqttClient
}

// send publishes an event on the topic of its own cluster. It ignores the broker's reaction.
func (a *attacker) send(event *cloudevents.Event) {
	a.t.Helper()
	for range 3 {
		if a.client == nil {
			client, err := a.b.dial(a.t.Context(), a.config, "attacker", nil)
			if err != nil {
				continue
			}
			a.client = client
		}
		message := &paho.Publish{QoS: 1, Topic: "sources/mwrsctrl/clusters/" + a.cluster + "/agentevents"}
		require.NoError(a.t, cloudeventsmqtt.WritePubMessage(a.t.Context(), (*binding.EventMessage)(event), message))
		ctx, cancel := context.WithTimeout(a.t.Context(), inTime)
		go func(lost <-chan struct{}) {
			select {
			case <-lost:
				cancel()
			case <-ctx.Done():
			}
		}(a.client.lost)
		_, err := a.client.Publish(ctx, message)
		cancel()
		if err == nil {
			return
		}
		_ = a.client.Disconnect(&paho.Disconnect{})
		a.client = nil
		if len(message.Payload) > 4<<20 {
			return // The broker disconnects the client for this.
		}
	}
}

// reports returns a report about a work of the attacker's cluster.
func (a *attacker) reports(name, owner string, change func(*workv1.ManifestWork)) *cloudevents.Event {
	a.t.Helper()
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.cluster, Name: name, UID: types.UID(utils.UID(works.SourceID, common.ManifestWorkGR.String(), a.cluster, name)), Generation: 1,
		Labels: map[string]string{workv1alpha1.LabelReplicaSet: owner, common.CloudEventsOriginalSourceLabelKey: works.SourceID},
	}}
	change(work)
	return reportOf(a.t, work)
}

// One agent attacks in every way that an agent can: endless new condition types, reports of any size about invented works and owners, and
// generations that no hub creates. The other cluster gets its rollouts at once, and the hub's memory is bounded. The test is not parallel,
// because it measures the memory of this process.
func TestMosquittoOneAgentAttacks(t *testing.T) {
	b := newMosquitto(t)
	f := newEventFleet(t, "mosquitto-attacks", "mqtt", b.sourceConfig(), b.agentConfig, &sent{})
	f.start(all("None", 0))
	f.agents["c2"].Stop()
	cluster := f.cluster("c2")
	a := &attacker{t: t, b: b, cluster: cluster, config: b.agentConfig(cluster)}
	owner := workv1alpha1.OwnerLabelValue(f.namespace, f.name)

	before, most := heap(), uint64(0)
	version := 1
	attack := func(what string, times int, event func(i int) *cloudevents.Event) {
		t.Helper()
		for i := range times {
			a.send(event(i))
		}
		most = max(most, heap())
		version++
		next := fmt.Sprintf("v%d", version)
		began := time.Now()
		f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
			mwrs.Spec.ManifestWorkTemplate = realTemplate(next, true)
		})
		eventually(t, what+": the other cluster gets "+next, func() error {
			if now := f.deployed("c1"); now != next {
				return fmt.Errorf("it has %s", now)
			}
			return nil
		})
		t.Logf("%s: the other cluster had %s after %s", what, next, time.Since(began))
		require.Less(t, time.Since(began), inTime, what)
	}
	attack("new condition types", 12, func(event int) *cloudevents.Event {
		return a.reports(f.name, owner, func(work *workv1.ManifestWork) {
			for i := range 3000 {
				work.Status.Conditions = append(work.Status.Conditions, metav1.Condition{
					Type: fmt.Sprintf("Made-%d-Up-%d", event, i), Status: metav1.ConditionTrue, Reason: "Forged", ObservedGeneration: 1,
					Message: strings.Repeat("x", 80),
				})
			}
		})
	})
	for what, size := range map[string]int{"reports of 8 MiB": 8 << 20, "reports of 3 MiB": 3 << 20} {
		attack(what, 100, func(i int) *cloudevents.Event {
			return a.reports(fmt.Sprintf("made-up-%d", i), owner, func(work *workv1.ManifestWork) {
				value := strings.Repeat("x", size)
				work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{StatusFeedbacks: workv1.StatusFeedbackResult{
					Values: []workv1.FeedbackValue{{Name: "made-up", Value: workv1.FieldValue{Type: workv1.String, String: &value}}},
				}}}
			})
		})
	}
	attack("made-up owners", 500, func(i int) *cloudevents.Event {
		return a.reports(fmt.Sprintf("made-up-%d", i), fmt.Sprintf("%s.made-up-%d", f.namespace, i), func(*workv1.ManifestWork) {})
	})
	attack("generations", 100, func(i int) *cloudevents.Event {
		return a.reports(f.name, owner, func(work *workv1.ManifestWork) {
			if work.Generation = math.MaxInt32; i%2 == 0 {
				work.Generation = int64(1<<30 + i)
			}
		})
	})
	most = max(most, heap())
	t.Logf("the heap grew from %d MB to %d MB", before>>20, most>>20)
	require.Less(t, most, before+200<<20)

	// The cluster recovers when its own agent returns.
	if a.client != nil {
		_ = a.client.Disconnect(&paho.Disconnect{})
	}
	f.agents["c2"].Start()
	f.complete()
	f.deploys(map[string]string{"c1": fmt.Sprintf("v%d", version), "c2": fmt.Sprintf("v%d", version)})
}

// heap returns the memory that this process has allocated and not freed.
func heap() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
