package simulation

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/cloudevents"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
)

// connect gives a process a driver that carries works over a broker. The process does not make a pass until the works are restored.
func (p *Process) connect(n *Network) {
	p.owners = cloudevents.NewCaches()
	p.owners.ReplicaSets, p.owners.Placements, p.owners.Decisions = p.stores.ReplicaSets, p.stores.Placements, p.stores.Decisions
	p.owners.Revisions, p.owners.Client = p.stores.Revisions, liveClient{api: p.api}
	p.network, p.restoring = n, true
	n.hub.begin()
	p.driver = newStepped(cloudevents.Options{
		Owners: p.owners, Connection: p.connection, AgentReturn: cloudevents.DefaultAgentReturn, Clock: p.clock, Available: p.api.lease,
		Metrics: metrics.New(),
	}, &n.hub, n.await)
}

// restored reports whether the works of the process are restored. After that, the process makes passes.
func (p *Process) restored() bool {
	if p.restoring && p.driver.Knows(context.Background(), p.owners.Expected()) {
		p.restoring = false
		p.Observe(p.Behind())
		p.connection.Restart()
	}
	return !p.restoring
}

// overBroker changes a configuration for works that travel over a broker.
func (p *Process) overBroker(config *controller.Config, machine machineClock) {
	config.Works, config.Metadata, config.Broker = brokerClient{process: p}, nil, datedBroker{p.driver, machine.world}
}

// datedBroker is a driver that measures times with a monotonic clock. It converts them to the times that the clock of the hub's machine
// showed.
type datedBroker struct {
	*stepped
	world *World
}

// HeardSince implements controller.Broker.
func (b datedBroker) HeardSince(cluster string) (time.Time, bool) {
	since, heard := b.stepped.HeardSince(cluster)
	return b.world.shownAt(since), heard
}

// pull fetches the changes to works that the driver reports.
func (p *Process) pull() {
	if p.driver != nil && !p.restoring {
		p.changes = append(p.changes, p.driver.changes()...)
	}
}

// seeWork shows a change to a work to the cache.
func (p *Process) seeWork(event watch.Event) {
	work := event.Object.(*workv1.ManifestWork)
	if event.Type == watch.Deleted {
		if err := p.stores.Works.Delete(work); err != nil {
			panic(err)
		}
		return
	}
	trimmed, err := p.trim(work)
	if err == nil {
		err = p.stores.Works.Update(trimmed)
	}
	if err != nil {
		panic(err)
	}
}

// brokerClient is the driver's client of works. Its writes can fail.
type brokerClient struct {
	workclientset.Interface
	process *Process
}

func (c brokerClient) WorkV1() workv1client.WorkV1Interface { return brokerWorksV1{process: c.process} }

type brokerWorksV1 struct {
	workv1client.WorkV1Interface
	process *Process
}

func (c brokerWorksV1) ManifestWorks(namespace string) workv1client.ManifestWorkInterface {
	return brokerWorks{ManifestWorkInterface: c.process.driver.Works().WorkV1().ManifestWorks(namespace), process: c.process, namespace: namespace}
}

// brokerWorks lists works as the driver's client does.
type brokerWorks struct {
	workv1client.ManifestWorkInterface
	process   *Process
	namespace string
}

func (c brokerWorks) Get(ctx context.Context, name string, options metav1.GetOptions) (*workv1.ManifestWork, error) {
	if c.process.dead {
		return nil, errKilled
	}
	defer c.process.network.asking(c.namespace, name)()
	return c.ManifestWorkInterface.Get(ctx, name, options)
}

func (c brokerWorks) Create(ctx context.Context, work *workv1.ManifestWork, options metav1.CreateOptions) (*workv1.ManifestWork, error) {
	return writeOver(c.process, "create work "+c.namespace+"/"+work.Name, func() (*workv1.ManifestWork, error) {
		return c.ManifestWorkInterface.Create(ctx, work, options)
	})
}

func (c brokerWorks) Update(ctx context.Context, work *workv1.ManifestWork, options metav1.UpdateOptions) (*workv1.ManifestWork, error) {
	return writeOver(c.process, "patch work "+c.namespace+"/"+work.Name, func() (*workv1.ManifestWork, error) {
		return c.ManifestWorkInterface.Update(ctx, work, options)
	})
}

func (c brokerWorks) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string,
) (*workv1.ManifestWork, error) {
	return writeOver(c.process, "patch work "+c.namespace+"/"+name, func() (*workv1.ManifestWork, error) {
		return c.ManifestWorkInterface.Patch(ctx, name, kind, data, options, subresources...)
	})
}

func (c brokerWorks) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	_, err := writeOver(c.process, "delete work "+c.namespace+"/"+name, func() (struct{}, error) {
		return struct{}{}, c.ManifestWorkInterface.Delete(ctx, name, options)
	})
	return err
}

// writeOver performs a write of a work, unless a fault prevents it: the broker rejects the write, or accepts it but does not answer.
func writeOver[T any](p *Process, what string, do func() (T, error)) (T, error) {
	var none T
	fault, err := p.faultOf(what)
	if err != nil {
		return none, err
	}
	p.network.hub.fault = fault
	answer, err := do()
	p.network.hub.fault = NoFault
	if err == nil {
		p.written++
		if p.Wrote != nil {
			p.Wrote(what)
		}
	}
	if fault == KilledAfter {
		p.dead = true
		return none, errKilled
	}
	return answer, err
}

// liveClient reads the objects that the driver requests from the API server.
type liveClient struct {
	dynamic.Interface
	api *API
}

func (c liveClient) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return liveResource{api: c.api, kind: Kind(resource.Resource)}
}

type liveResource struct {
	dynamic.NamespaceableResourceInterface
	api       *API
	kind      Kind
	namespace string
}

func (c liveResource) Namespace(namespace string) dynamic.ResourceInterface {
	c.namespace = namespace
	return c
}

func (c liveResource) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	return copied(c.api.Get(c.kind, c.namespace, name))
}

// restoreInterval is the interval at which the simulation checks whether a new hub has restored its works.
const restoreInterval = time.Second
