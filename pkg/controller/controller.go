// Package controller reconciles ManifestWorkReplicaSets.
//
// A pass over one of them takes these steps, in this order:
//
//	observe   the informers' caches become one view of the object               (observe.go)
//	finalize  its works are deleted with it, and a finalizer waits for that      (finalize.go)
//	revision  package revision/plan decides which revision the template has,
//	          step by step, and each step is performed                           (revisions.go)
//	rollout   what later writes depend on is persisted before the rollout goes on (revisions.go)
//	deploy    package rollout decides; the decision is persisted and carried out (deploy.go)
//	status    package status makes the conditions and counts, in one write       (report.go)
//	prune     revisions over the limit are deleted                               (prune.go)
//
// Write-ahead: a step that persists a decision ends the pass. The next pass begins when every cache shows that write
// (internal/memory/expectations.go, R15). A process that is killed after any write leaves behind what its successor needs.
//
// The controller holds no client of its own. Package internal/workwriter writes ManifestWorks, internal/ledger writes ControllerRevisions,
// and replicaset patches the object. What is written into a work comes from package workpatch.
//
// Passes over several objects run at the same time. Passes that carry out an abort have workers and write slots of their own, and within
// each of the two lanes namespaces take turns (package internal/queue). A pass writes for a bounded time, and leaves the rest to the next
// one.
//
// What a process remembers from one pass to the next is in package internal/memory. Its successor never needs it. What is known of an
// object is dropped when the object is gone (informers.go).
package controller

import (
	"cmp"
	"context"
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
	clusterlisters "open-cluster-management.io/api/client/cluster/listers/cluster/v1beta1"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/connectivity"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/workwriter"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

const (
	// DefaultSuccessSettle is how long a success must be seen before it counts (R10). An agent stamps a new generation on
	// conditions that it read before it applied it, and corrects itself within a second or two.
	DefaultSuccessSettle = 3 * time.Second
	// conflictInterval is how soon a pass whose write met a newer object is made again; that object's event comes earlier.
	conflictInterval = time.Second
	// catchUpInterval is how often a pass that waits for its caches looks again; an event usually wakes it earlier.
	catchUpInterval = 200 * time.Millisecond
	// catchUpQuestions is for how many objects it is asked each time that a pass looks whether its caches have caught up.
	catchUpQuestions = 4
)

// Config is what a Controller works with.
type Config struct {
	// Dynamic reads and patches ManifestWorkReplicaSets.
	Dynamic dynamic.Interface
	// Works writes ManifestWorks: the API server's client, or that of a CloudEvents driver.
	Works workclientset.Interface
	// Metadata patches ManifestWorks without reading them back; nil where a driver has no such client.
	Metadata metadata.Interface
	// WholeWorks says that a change of a spec is written as a whole ManifestWork, not as a patch: over a broker an event holds all of it
	// anyway.
	WholeWorks bool
	// DeletionCounts says that the deletion of a ManifestWork makes a generation of its own, as the API server has it. Over a broker
	// it makes none.
	DeletionCounts bool
	// Kube writes ControllerRevisions.
	Kube kubernetes.Interface

	ReplicaSetInformer cache.SharedIndexInformer
	WorkInformer       workinformers.ManifestWorkInformer
	RevisionInformer   appsinformers.ControllerRevisionInformer
	PlacementInformer  clusterinformers.PlacementInformer
	DecisionInformer   clusterinformers.PlacementDecisionInformer

	// History reports whether ControllerRevisions can be read now. Nil for always.
	History func() History
	// Connection says since when the API server can be heard (R11).
	Connection *connectivity.Connection
	// Agents says which agents were heard, where works travel over a broker; nil where they go through the API server.
	Agents Agents
	// Recorder reports to people what happened to a ManifestWorkReplicaSet.
	Recorder events.EventRecorder
	// Metrics are set by what happens; nil for none.
	Metrics *metrics.Metrics
	// Clock is the hub's clock.
	Clock clock.PassiveClock
	// SuccessSettle is how long this process must see a success before it counts.
	SuccessSettle time.Duration
	// Handover bounds the works that keep dropped objects; the default limits if zero.
	Handover handover.Limits
	// Writers is how many writes of ManifestWorks are under way at once, over all objects; 16 if zero.
	Writers int
}

// History is whether ControllerRevisions can be read. The zero value is that they can.
type History struct {
	// Unavailable says that they can't.
	Unavailable bool
	// Note says why, and what to do about it. It is for people: nothing is decided by it.
	Note string
}

// Agents knows the agents that report over a broker.
type Agents interface {
	// HeardSince reports since when this process has heard the agent of a cluster; false when it has not (R11).
	HeardSince(cluster string) (time.Time, bool)
	// Claimed returns the hashes of works that agents report as an owner's, by the value of its label, and that this hub does not know yet.
	// Only works count that the owner can have.
	Claimed(owner string, counts func(cluster, name string) bool) []string
	// Unreached reports whether the agent of a work is available but does not receive what the hub sends.
	Unreached(work types.UID) bool
	// Reachable reports whether anything can be sent to agents now.
	Reachable() bool
}

// Stores are the caches that a Controller reads. Informers fill them; a simulation fills them itself, late if it likes.
type Stores struct {
	// ReplicaSets holds what TransformReplicaSet makes.
	ReplicaSets cache.Indexer
	Works       cache.Indexer
	Revisions   cache.Indexer
	Placements  cache.Indexer
	Decisions   cache.Indexer
}

// NewStores makes empty ones, with the indices that a Controller needs.
func NewStores() Stores {
	indexer := func(indexers cache.Indexers) cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	}
	return Stores{
		ReplicaSets: indexer(replicaset.PlacementIndexers()),
		Works:       indexer(workcache.OwnerIndexers()),
		Revisions:   indexer(workcache.OwnerIndexers()),
		Placements:  indexer(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		Decisions:   indexer(replicaset.PlacementIndexers()),
	}
}

// Controller rolls ManifestWorkReplicaSets out, and back.
type Controller struct {
	// What writes, and reads live.
	objects *replicaset.Client
	works   *workwriter.Writer
	ledger  *ledger.Ledger

	// The caches that are read.
	replicaSets   cache.Indexer
	workIndex     cache.Indexer
	revisionIndex cache.Indexer
	placement     clusterlisters.PlacementLister
	decisionIndex cache.Indexer

	// What it works with, as in Config.
	deletionCounts bool
	history        func() History
	connection     *connectivity.Connection
	agents         Agents
	recorder       events.EventRecorder
	metrics        *metrics.Metrics
	clock          clock.PassiveClock
	successSettle  time.Duration
	writers        int
	// slots are what the passes over several objects share: each write takes one.
	slots *queue.Slots
	// abortsWait reports whether another abort waits for a worker.
	abortsWait func() bool

	// What is kept from one pass to the next, each with a lock of its own (doc.go).
	expectations *memory.Expectations
	memory       *memory.Memory
	contents     *memory.Contents
	combinations *memory.Combinations
	pace         *memory.Pace
	selections   *memory.Selections
	aborting     *memory.Aborting

	// chain holds the steps of a pass, in order.
	chain []reconciler
}

// reconciler is a step of a pass. It reports whether the pass goes on.
type reconciler interface {
	reconcile(ctx context.Context, p *pass) (goOn bool, err error)
}

// NewWithStores makes a controller that no informer drives: its caller fills the stores and calls Sync. The informers in
// the config are not used.
func NewWithStores(config Config, stores Stores) *Controller {
	c := &Controller{
		objects: replicaset.NewClient(config.Dynamic),
		works: workwriter.New(workwriter.Config{
			Works: config.Works, Metadata: config.Metadata, Whole: config.WholeWorks, Clock: config.Clock,
		}),
		ledger:         ledger.New(config.Kube),
		placement:      clusterlisters.NewPlacementLister(stores.Placements),
		replicaSets:    stores.ReplicaSets,
		workIndex:      stores.Works,
		revisionIndex:  stores.Revisions,
		decisionIndex:  stores.Decisions,
		deletionCounts: config.DeletionCounts,
		history:        config.History,

		connection:    config.Connection,
		agents:        config.Agents,
		recorder:      config.Recorder,
		metrics:       config.Metrics,
		clock:         config.Clock,
		successSettle: config.SuccessSettle,
		writers:       cmp.Or(max(config.Writers, 0), defaultWriters),
		expectations:  memory.NewExpectations(),
		memory:        memory.New(),
		contents:      memory.NewContents(),
		combinations:  memory.NewCombinations(cmp.Or(config.Handover, handover.DefaultLimits())),
		pace:          memory.NewPace(),
		selections:    memory.NewSelections(),
		aborting:      memory.NewAborting(),
	}
	if c.history == nil {
		c.history = func() History { return History{} }
	}
	if c.metrics == nil {
		c.metrics = metrics.New() // Not registered, they count nothing.
	}
	c.slots, c.abortsWait = queue.NewSlots(c.writers, c.clock), func() bool { return true }
	c.chain = []reconciler{
		&finalizeReconciler{c}, &revisionReconciler{c}, &rolloutReconciler{c}, &deployReconciler{c}, &statusReconciler{c}, &pruneReconciler{c},
	}
	return c
}
