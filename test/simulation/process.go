package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
	"github.com/open-cluster-management-io/work-rollback/pkg/cloudevents"
	"github.com/open-cluster-management-io/work-rollback/pkg/connectivity"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// Fault is the fate of a write.
type Fault string

// The faults.
const (
	// NoFault lets the write through.
	NoFault Fault = ""
	// KilledBefore ends the process before the write.
	KilledBefore Fault = "killed before"
	// KilledAfter ends the process after the write, before the answer.
	KilledAfter Fault = "killed after"
	// Refused answers 500, and writes nothing.
	Refused Fault = "500"
	// Denied answers 403, and writes nothing: a quota is exhausted, or a policy rejects the write.
	Denied Fault = "403"
	// NotPermitted answers 403, and writes nothing: the hub lacks the permission.
	NotPermitted Fault = "not permitted"
	// Throttled answers 429, and writes nothing.
	Throttled Fault = "429"
	// Conflicted answers 409, and writes nothing.
	Conflicted Fault = "409"
	// Lost writes, and times out.
	Lost Fault = "written, but timed out"
)

// errKilled is the result of each request of a killed process.
var errKilled = errors.New("the process is dead")

// Process is one run of the hub: the controller with its memory and its caches. A killed one is replaced by a new one.
type Process struct {
	api        *API
	clock      *clocktesting.FakeClock
	controller *controller.Controller
	stores     controller.Stores
	connection *connectivity.Connection
	trim       cache.TransformFunc
	seen       int
	// began is the time at which the process started.
	began time.Time
	// unread is true if the process may not list ControllerRevisions yet. hidden are the changes of them that it has not seen.
	unread bool
	hidden []Event
	// unseen are the changes to ManagedClusters that the process has missed because it has no permission to read them.
	unseen []Event
	// clusters is the state of ManagedClusters that the process has seen.
	clusters map[string]sighting
	// rules are the holds and windows of ManagedClusters that the process has seen.
	rules map[string]availability.Rule
	dead  bool
	// lists counts the live lists of works.
	lists int
	// answers counts the requests that failed.
	answers int
	// written counts the writes of works over a broker.
	written int
	// decided is what the process last decided, as a status that it wrote shows it.
	decided decided

	// network and driver carry works over a broker; nil if works go through the API server.
	network *Network
	driver  *stepped
	// owners are looked up in the caches. restoring is true until the works of the process are restored.
	owners    *cloudevents.Caches
	restoring bool
	// changes are the changes to works that the cache has not seen yet.
	changes []watch.Event

	// Fault is called before each write; nil for no faults.
	Fault func(write string) Fault
	// Wrote is called with each write that reached the API server.
	Wrote func(write string)
	// Reads is called before a work is read live; nil for nothing.
	Reads func()
}

// NewProcess starts a process with full caches and without memory.
func NewProcess(
	api *API, clk *clocktesting.FakeClock, machine machineClock, settle time.Duration, recorder events.EventRecorder, network *Network,
) *Process {
	p := &Process{api: api, clock: clk, stores: controller.NewStores(), clusters: map[string]sighting{}, rules: map[string]availability.Rule{}, trim: workcache.NewTransform(), unread: api.NoHistory, began: clk.Now()}
	p.connection = connectivity.New(machine)
	config := controller.Config{
		AllLabelled: true,
		Dynamic:     dynamicClient{process: p}, Works: workClient{process: p}, Metadata: metadataClient{process: p}, Kube: kubeClient{process: p},
		HistoryNote: p.historyNote, ClustersNote: p.clustersNote,
		Connection: p.connection, Recorder: recorder, Clock: machine, SuccessSettle: settle, Writers: 1,
	}
	if network != nil {
		p.connect(network)
		p.overBroker(&config, machine)
	}
	p.controller = controller.NewWithStores(config, p.stores)
	p.Observe(len(api.log))
	return p
}

func (p *Process) historyNote() string {
	if p.api.NoHistory {
		return "no history: simulated"
	}
	return ""
}

func (p *Process) clustersNote() string {
	if p.api.NoClusters {
		return "no ManagedClusters: simulated"
	}
	return ""
}

// preserves reports whether the object is being deleted with its workloads preserved, as far as the process can know.
func (p *Process) preserves() (name string, preserves bool) {
	for _, cached := range p.stores.ReplicaSets.List() {
		object := cached.(*replicaset.Object)
		return object.Name, object.DeletionTimestamp != nil && ptr.Deref(object.Spec.PreserveResourcesOnDeletion, false)
	}
	return "", false
}

// Observe shows at most n more events to the caches.
func (p *Process) Observe(n int) {
	p.pull()
	p.seeClusters()
	for i := range n {
		if len(p.changes) > 0 && (i%2 == 0 || p.seen >= len(p.api.log)) {
			p.seeWork(p.changes[0])
			p.changes = p.changes[1:]
			continue
		}
		if p.seen >= len(p.api.log) {
			return
		}
		p.see(p.api.log[p.seen])
		p.seen++
	}
}

// Behind returns how many events the caches have not seen.
func (p *Process) Behind() int {
	p.pull()
	behind := len(p.api.log) - p.seen + len(p.changes)
	if !p.api.NoClusters {
		behind += len(p.unseen)
	}
	return behind
}

// list fills the cache of ControllerRevisions as soon as the process has the permission. An open watch continues without the permission.
func (p *Process) list() {
	if !p.unread || p.api.NoHistory {
		return
	}
	p.unread = false
	for _, event := range p.hidden {
		p.see(event)
	}
	p.hidden = nil
}

func (p *Process) see(event Event) {
	if p.list(); p.unread && event.Kind == Revisions {
		p.hidden = append(p.hidden, event)
		return
	}
	if event.Kind == Clusters {
		p.unseen = append(p.unseen, event)
		p.seeClusters()
		return
	}
	object, store := p.decode(event)
	var err error
	if event.Deleted {
		err = store.Delete(object)
	} else {
		err = store.Update(object)
	}
	if err != nil {
		panic(err)
	}
}

// seeClusters shows the controller the changes to ManagedClusters, if the process may read them.
func (p *Process) seeClusters() {
	if p.api.NoClusters {
		return
	}
	for _, event := range p.unseen {
		p.seeCluster(event)
	}
	p.unseen = nil
}

// seeCluster shows the controller a change to a ManagedCluster.
func (p *Process) seeCluster(event Event) {
	cluster, err := availability.Trim(as[clusterv1.ManagedCluster](p.api, event.Object))
	if err != nil {
		panic(err)
	}
	name := event.Object.GetName()
	report, exists := availability.ReportOf(cluster.(*clusterv1.ManagedCluster))
	p.rules[name] = report.Rule
	if event.Deleted {
		delete(p.clusters, name)
		delete(p.rules, name)
		p.controller.ForgetCluster(cluster)
		return
	}
	if !exists {
		delete(p.clusters, name)
	} else if before, known := p.clusters[name]; !known || before.available != report.Available {
		p.clusters[name] = sighting{available: report.Available, since: p.clock.Now()}
	}
	p.controller.NoteCluster(cluster)
}

func (p *Process) decode(event Event) (any, cache.Store) {
	switch event.Kind {
	case ReplicaSets:
		object, err := replicaset.Transform(event.Object.DeepCopy())
		if err != nil {
			panic(err)
		}
		return object, p.stores.ReplicaSets
	case Works:
		object, err := p.trim(as[workv1.ManifestWork](p.api, event.Object))
		if err != nil {
			panic(err)
		}
		return object, p.stores.Works
	case Revisions:
		object, err := controller.NewRevisionTransform()(as[appsv1.ControllerRevision](p.api, event.Object))
		if err != nil {
			panic(err)
		}
		return object, p.stores.Revisions
	case Placements:
		return as[clusterv1beta1.Placement](p.api, event.Object), p.stores.Placements
	default:
		return as[clusterv1beta1.PlacementDecision](p.api, event.Object), p.stores.Decisions
	}
}

// from converts a typed object.
func from(typed any) *unstructured.Unstructured {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		panic(err)
	}
	return &unstructured.Unstructured{Object: object}
}

// Sync makes one pass. It returns the time after which the controller wants another pass, zero for never. dead is true if the process was
// killed in the pass.
func (p *Process) Sync(ctx context.Context, key string) (again time.Duration, dead bool, err error) {
	p.list()
	again, err = p.controller.Sync(ctx, key)
	return again, p.dead, err
}

// simulated returns an error whose message is different for each request, as with some webhooks.
func (p *Process) simulated() error {
	p.answers++
	return fmt.Errorf("simulated, request %d", p.answers)
}

// faultOf returns the fate of a write. The error is not nil if the process is dead.
func (p *Process) faultOf(what string) (Fault, error) {
	fault := NoFault
	if p.Fault != nil && !p.dead {
		fault = p.Fault(what)
	}
	p.dead = p.dead || fault == KilledBefore
	if p.dead {
		return fault, errKilled
	}
	return fault, nil
}

// write performs a write, unless a fault prevents it.
func write[T any](p *Process, what string, do func() (T, error)) (T, error) {
	var none T
	fault, err := p.faultOf(what)
	if err != nil {
		return none, err
	}
	switch fault {
	case Refused:
		return none, apierrors.NewInternalError(p.simulated())
	case Denied:
		return none, apierrors.NewForbidden(schema.GroupResource{}, what, p.simulated())
	case NotPermitted:
		return none, apierrors.NewForbidden(Works.resource(), what, fmt.Errorf("%s %q cannot patch resource %q", "User", "hub", "manifestworks"))
	case Throttled:
		return none, apierrors.NewTooManyRequests(p.simulated().Error(), 1)
	case Conflicted:
		return none, apierrors.NewConflict(Works.resource(), what, errors.New("simulated"))
	}
	before := p.api.version
	answer, err := do()
	if err == nil && p.Wrote != nil && p.api.version != before {
		p.Wrote(what)
	}
	switch fault {
	case KilledAfter:
		p.dead = true
		return none, errKilled
	case Lost:
		return none, apierrors.NewTimeoutError("simulated", 1)
	}
	return answer, err
}
