package fleet

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/statushash"
	agentcodec "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/agent/codec"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/clients"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

const (
	// source is the source name of the hub.
	source = "mwrsctrl"
	// reconnectInterval is the interval at which an agent tries to reach a broker that is unavailable. sdk-go's delays grow to a minute, which
	// would dominate the measurement.
	reconnectInterval = 500 * time.Millisecond
	// connectors is the number of agents that connect at once.
	connectors = 128
)

// Agents are sdk-go's agent clients, one for each cluster, all in this process.
type Agents struct {
	driver, address string
	clients         []*agent
	// delivered counts the events that brought a work to its agent. reported counts the events with reports from agents.
	delivered, reported atomic.Int64
}

type client = generic.CloudEventsClient[*workv1.ManifestWork]

// agent is the client of one cluster.
type agent struct {
	agents  *Agents
	fleet   *Fleet
	cluster string

	mu     sync.Mutex
	client client
	stop   func()
	// starts is the number of times the agent was started.
	starts int
	// works are the agent's works without their contents, and versions are the versions of these works.
	works    map[types.UID]*workv1.ManifestWork
	versions map[string]int
}

// StartAgents starts the agents of n clusters on a broker, with the driver mqtt or grpc. They report success after a delay when a work is
// written, and end with the context.
func StartAgents(ctx context.Context, driver, address string, n int, delay time.Duration) (*Fleet, error) {
	clients.DelayFn = func() time.Duration { return reconnectInterval }
	f := newFleet(delay)
	f.agents = &Agents{driver: driver, address: address}
	for i := range n {
		f.agents.clients = append(f.agents.clients, &agent{
			agents: f.agents, fleet: f, cluster: Cluster(i), works: map[types.UID]*workv1.ManifestWork{}, versions: map[string]int{},
		})
	}
	f.report = f.agents.publish
	if err := f.agents.connect(ctx); err != nil {
		return nil, err
	}
	f.run(ctx)
	return f, nil
}

// Return makes all agents disconnect and reconnect at the same time, with the works that they had. It returns once they are connected
// again.
func (f *Fleet) Return(ctx context.Context) error {
	for _, a := range f.agents.clients {
		a.mu.Lock()
		a.stop()
		a.mu.Unlock()
	}
	return f.agents.connect(ctx)
}

// Messages returns how many events brought a work to an agent, or a report to the hub, so far; 0 if works don't travel over a broker.
func (f *Fleet) Messages() int {
	if f.agents == nil {
		return 0
	}
	return int(f.agents.delivered.Load() + f.agents.reported.Load())
}

// Versions returns, for each version, the number of clusters whose work with this name has it.
func (f *Fleet) Versions(name string) map[int]int {
	found := map[int]int{}
	for _, a := range f.agents.clients {
		a.mu.Lock()
		if version, has := a.versions[name]; has {
			found[version]++
		}
		a.mu.Unlock()
	}
	return found
}

func (g *Agents) connect(ctx context.Context) error {
	connecting, inner := errgroup.WithContext(ctx)
	connecting.SetLimit(connectors)
	for _, a := range g.clients {
		connecting.Go(func() error {
			if err := inner.Err(); err != nil {
				return err
			}
			if err := a.connect(ctx); err != nil {
				return fmt.Errorf("connecting the agent of %s: %w", a.cluster, err)
			}
			return nil
		})
	}
	return connecting.Wait()
}

// connect returns once the agent is subscribed, so that it receives everything that the hub sends after that.
func (a *agent) connect(ctx context.Context) error {
	o, hangUp, err := a.dial()
	if err != nil {
		return err
	}
	lasting, cancel := context.WithCancel(ctx)
	stop := func() {
		cancel()
		hangUp()
	}
	client, err := clients.NewCloudEventAgentClient(lasting, o, a, statushash.StatusHash[*workv1.ManifestWork], agentcodec.NewManifestBundleCodec())
	if err != nil {
		stop()
		return err
	}
	a.mu.Lock()
	a.client, a.stop = client, stop
	a.mu.Unlock()
	subscribed := make(chan struct{})
	client.Subscribe(lasting, a.receive)
	go a.serve(lasting, client, subscribed)
	select {
	case <-subscribed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(dialTimeout):
		return fmt.Errorf("not subscribed within %s", dialTimeout)
	}
}

// List is for sdk-go, which responds to a hub that requests the works of this agent.
func (a *agent) List(context.Context, eventtypes.ListOptions) ([]*workv1.ManifestWork, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	works := make([]*workv1.ManifestWork, 0, len(a.works))
	for _, work := range a.works {
		works = append(works, work)
	}
	a.agents.reported.Add(int64(len(works)))
	return works, nil
}

// receive handles each work that the hub sends. An agent ignores a generation that is older than its own.
func (a *agent) receive(_ context.Context, work *workv1.ManifestWork) error {
	a.agents.delivered.Add(1)
	a.mu.Lock()
	known := a.works[work.UID]
	if !work.DeletionTimestamp.IsZero() || known != nil && known.Generation >= work.Generation {
		a.mu.Unlock()
		return nil
	}
	a.versions[work.Name] = Version(&work.Spec)
	work.Spec = workv1.ManifestWorkSpec{}
	if known != nil {
		work.Status = known.Status
	}
	a.works[work.UID] = work
	a.mu.Unlock()
	a.fleet.notice(cache.MetaObjectToName(work).String(), work.Generation)
	return nil
}

// publish reports the status of a work.
func (g *Agents) publish(ctx context.Context, at cache.ObjectName, status *workv1.ManifestWorkStatus) error {
	var i int
	if _, err := fmt.Sscanf(at.Namespace, clusterFormat, &i); err != nil {
		return fmt.Errorf("%s is not a cluster of this fleet: %w", at.Namespace, err)
	}
	a := g.clients[i]
	a.mu.Lock()
	client := a.client
	var told *workv1.ManifestWork
	for uid, work := range a.works {
		if work.Name == at.Name {
			told = work.DeepCopy()
			told.Status = *status.DeepCopy()
			if told.Labels == nil {
				told.Labels = map[string]string{}
			}
			told.Labels[common.CloudEventsOriginalSourceLabelKey] = source
			a.works[uid] = told
		}
	}
	a.mu.Unlock()
	if told == nil {
		return fmt.Errorf("the agent of %s has no work %s", at.Namespace, at.Name)
	}
	g.reported.Add(1)
	// While the broker is unavailable, the report is lost. When it is available again, the hub requests the agent's works.
	_ = client.Publish(ctx, eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: eventtypes.SubResourceStatus, Action: eventtypes.UpdateRequestAction,
	}, told)
	return nil
}
