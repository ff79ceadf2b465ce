package controller

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions/cluster/v1beta1"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/connectivity"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/revisionwriter"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/workwriter"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

const (
	// DefaultSuccessSettle is the time for which a success must be observed before it counts. An agent may briefly attach
	// the new generation to conditions that describe the old objects; it corrects this within a second or two.
	DefaultSuccessSettle = 3 * time.Second
	// conflictInterval is the time after which a pass is repeated if its write conflicted with a newer object. The
	// event of the newer object usually comes earlier.
	conflictInterval = time.Second
	// catchUpInterval is the interval at which a pass that waits for its caches checks them again. An event usually
	// triggers the pass earlier.
	catchUpInterval = 200 * time.Millisecond
	// catchUpQuestions is the number of objects that a pass reads from the API server each time that it checks its caches.
	catchUpQuestions = 4
)

// Config holds the dependencies and settings of a Controller.
type Config struct {
	// Dynamic reads and patches ManifestWorkReplicaSets.
	Dynamic dynamic.Interface
	// Works writes ManifestWorks: the API server's client, or that of a CloudEvents driver.
	Works workclientset.Interface
	// Metadata patches ManifestWorks without reading them back; nil if a driver has no such client.
	Metadata metadata.Interface
	// Kube writes ControllerRevisions.
	Kube kubernetes.Interface

	ReplicaSetInformer cache.SharedIndexInformer
	WorkInformer       workinformers.ManifestWorkInformer
	RevisionInformer   appsinformers.ControllerRevisionInformer
	PlacementInformer  clusterinformers.PlacementInformer
	DecisionInformer   clusterinformers.PlacementDecisionInformer
	// ClusterInformer is an informer of ManagedClusters; nil if there is none.
	ClusterInformer cache.SharedIndexInformer

	// HistoryNote returns why ControllerRevisions can't be read now, ClustersNote why ManagedClusters can't be read now, and
	// HubNote why another hub may take over. Each text includes the remedy, and is empty if there is no such problem. If a
	// function is nil, there is never such a problem. Decisions depend only on whether the texts of HistoryNote and
	// ClustersNote are empty.
	HistoryNote, ClustersNote, HubNote func() string
	// Connection records when the connection to the API server began.
	Connection *connectivity.Connection
	// Broker carries the works to the agents; nil if they go through the API server. An event from a broker always holds
	// a whole ManifestWork, never a patch. Deleting a ManifestWork increments its generation in the API server, but not
	// over a broker.
	Broker Broker
	// Recorder records the events of ManifestWorkReplicaSets.
	Recorder events.EventRecorder
	// Metrics are the metrics to update; nil for none.
	Metrics *metrics.Metrics
	// Clock is the hub's clock.
	Clock clock.PassiveClock
	// SuccessSettle is the time for which this process must see a success before it counts.
	SuccessSettle time.Duration
	// OwnerHash is true if works also get workv1alpha1.LabelOwnerHash. In that case, WorkInformer must also include
	// works without LabelReplicaSet.
	OwnerHash bool
	// AllLabelled is true if each work with workv1alpha1.LabelOwnerHash also has LabelReplicaSet, so that one list call
	// finds all works of an owner.
	AllLabelled bool
	// Handover limits the works that keep dropped objects; the default limits if zero.
	Handover handover.Limits
	// Writers is the maximum number of concurrent writes of ManifestWorks, across all objects; 16 if zero.
	Writers int
}

// Broker provides everything that a Controller knows about a broker and the agents that report over it.
type Broker interface {
	// HeardSince returns the time at which this process first heard from the agent of a cluster; false if it has not heard
	// from it.
	HeardSince(cluster string) (time.Time, bool)
	// Claimed returns the hashes of works that agents report for an owner and that this hub does not know yet. The
	// owner is identified by the value of its label. Claimed considers only the works for which counts returns true.
	Claimed(owner string, counts func(cluster, name string) bool) []string
	// Unreached reports whether the agent of a work is available but does not receive what the hub sends.
	Unreached(work types.UID) bool
	// Reachable reports whether anything can be sent to agents now.
	Reachable() bool
}

// Stores are the caches that a Controller reads. Informers fill them. A simulation fills them itself, possibly with a
// delay.
type Stores struct {
	// ReplicaSets holds the results of TransformReplicaSet.
	ReplicaSets cache.Indexer
	Works       cache.Indexer
	Revisions   cache.Indexer
	Placements  cache.Indexer
	Decisions   cache.Indexer
}

// NewStores returns empty stores with the indices that a Controller needs.
func NewStores() Stores {
	indexer := func(indexers cache.Indexers) cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	}
	works := workcache.WorkIndexers()
	works[cache.NamespaceIndex] = cache.MetaNamespaceIndexFunc // Each informer of a generated client has this index.
	return Stores{
		ReplicaSets: indexer(replicaset.PlacementIndexers()),
		Works:       indexer(works),
		Revisions:   indexer(workcache.OwnerIndexers()),
		Placements:  indexer(cache.Indexers{}),
		Decisions:   indexer(replicaset.DecisionIndexers()),
	}
}

// Controller rolls out and rolls back ManifestWorkReplicaSets.
type Controller struct {
	Config

	// The packages that hold the clients. They write to and read from the API server.
	objects   *replicaset.Client
	writer    *workwriter.Writer
	revisions *revisionwriter.Writer

	// The caches that the controller reads.
	stores Stores

	// clustersSeen reports whether the controller has received all ManagedClusters.
	clustersSeen func() bool
	// slots are shared by all passes: each write takes one.
	slots *queue.Slots
	// abortsWait reports whether another abort is waiting for a worker.
	abortsWait func() bool

	// State that is kept between passes. Each part has its own lock (package internal/memory).
	owners       *memory.Owners
	combinations *memory.Combinations
	selections   *memory.Selections
	clusters     *memory.Clusters
}

// wallClock is a clock without monotonic readings. Decisions compare times that this process recorded with stored
// times. After the clock is set back, the same moment is in the past by its monotonic reading, but in the future by its
// stored time. Package memory therefore caps the recorded times.
type wallClock struct{ clock.PassiveClock }

// Now implements clock.PassiveClock.
func (c wallClock) Now() time.Time { return c.PassiveClock.Now().Round(0) }

// Since implements clock.PassiveClock.
func (c wallClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// NewWithStores returns a controller without informers. The caller fills the stores and calls Sync. The informers in
// the config are not used.
func NewWithStores(config Config, stores Stores) *Controller {
	c := &Controller{
		Config:  config,
		objects: replicaset.NewClient(config.Dynamic),
		writer: workwriter.New(workwriter.Config{
			Works: config.Works, Metadata: config.Metadata, Whole: config.Broker != nil, Clock: config.Clock,
			AllLabelled: config.AllLabelled,
		}),
		revisions:    revisionwriter.New(config.Kube),
		stores:       stores,
		clustersSeen: func() bool { return true },
		abortsWait:   func() bool { return true },
		owners:       memory.NewOwners(),
		combinations: memory.NewCombinations(cmp.Or(config.Handover, handover.DefaultLimits())),
		selections:   memory.NewSelections(),
		clusters:     memory.NewClusters(),
	}
	c.Dynamic, c.Works, c.Metadata, c.Kube = nil, nil, nil, nil // Only the packages above have clients.
	c.Clock = wallClock{config.Clock}
	c.Writers = cmp.Or(max(config.Writers, 0), defaultWriters)
	c.slots = queue.NewSlots(c.Writers, c.Clock)
	for _, note := range []*func() string{&c.HistoryNote, &c.ClustersNote, &c.HubNote} {
		if *note == nil {
			*note = func() string { return "" }
		}
	}
	if c.Metrics == nil {
		c.Metrics = metrics.New() // Unregistered metrics are not exported.
	}
	return c
}
