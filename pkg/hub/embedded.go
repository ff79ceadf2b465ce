package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/connectivity"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/version"
)

// Embedded builds the controller of ManifestWorkReplicaSets for another manager: OCM's own work hub
// (docs/contributing/upstream.md). That manager provides the process, the leader lease, the flags, the feature gates
// and the informers. Embedded requires the driver kube, with which an API server stores the ManifestWorks. OCM's
// CloudEvents drivers do not count generations, so a report about an older revision looks like a report about a newer
// one.
//
// Call in this order: first Hear, and HearWorks if works have their own kubeconfig. Then create the clients and
// informers, and call NewReplicaSetController. Finally, start the informers, and call the controller's Run. OCM's
// options can't be an argument, because their package imports this one.
type Embedded struct {
	manager    *Manager
	connection *connectivity.Connection
	// config is the configuration for the API server with ManifestWorkReplicaSets, and works for the API server with
	// ManifestWorks; nil before Hear.
	config, works *rest.Config
	// namespace is the namespace of the manager.
	namespace string
}

// NewEmbedded returns an Embedded with the defaults of this hub's flags, the machine's clock, and this project's metrics.
func NewEmbedded() *Embedded {
	return (&Manager{
		Options: NewOptions(), Clock: clock.RealClock{}, Metrics: metrics.Default(), Version: version.Get().GitVersion,
	}).Embedded()
}

// Embedded is like NewEmbedded, but uses the options, the clock and the metrics of the manager. The driver must be kube.
func (m *Manager) Embedded() *Embedded {
	m.Metrics = cmp.Or(m.Metrics, metrics.New())
	return &Embedded{manager: m, connection: connectivity.New(m.Clock)}
}

// Hear returns a copy of a manager's context. Clients that are created from the copy's configuration detect whether the
// API server can be reached. No deadline expires while it can't. The clients of all shared informers must be among
// them.
func (e *Embedded) Hear(controllerContext *controllercmd.ControllerContext) (*controllercmd.ControllerContext, error) {
	heard := *controllerContext
	heard.KubeConfig = rest.CopyConfig(controllerContext.KubeConfig)
	e.manager.compareClocks(heard.KubeConfig)
	if err := e.connection.Hear(heard.KubeConfig); err != nil {
		return nil, err
	}
	e.config, e.works, e.namespace = heard.KubeConfig, heard.KubeConfig, controllerContext.OperatorNamespace
	return &heard, nil
}

// HearWorks is like Hear, for the API server with the ManifestWorks, if --work-driver-config names a separate one. It
// returns a copy of the configuration with the rate limits of Hear's configuration. A kubeconfig does not contain rate
// limits, and client-go's default of 5 requests per second would delay an abort of a thousand clusters by minutes.
func (e *Embedded) HearWorks(config *rest.Config) (*rest.Config, error) {
	if e.config == nil {
		return nil, errNotHeard
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.RateLimiter = e.config.QPS, e.config.Burst, e.config.RateLimiter
	if err := e.connection.Hear(config); err != nil {
		return nil, err
	}
	e.works = config
	return config, nil
}

var errNotHeard = errors.New("call Hear first, and make the clients of the shared informers of the configuration that it returns")

// FreshList makes an informer begin with the newest state instead of any state. The shared informer of ManifestWorks needs it, as an
// option of its factory: WithTweakListOptions(FreshList).
func FreshList(options *metav1.ListOptions) { replicaset.FreshList(options) }

// NewReplicaSetController returns the controller. It reads the manager's informers of ManifestWorks, Placements and
// PlacementDecisions. The informer of ManifestWorks must hold all works, and must not have a transform that removes
// data that the manager's other controllers read. The informers must not have been started yet; the manager starts
// them.
func (e *Embedded) NewReplicaSetController(
	ctx context.Context, shared workinformers.ManifestWorkInformer, clusters clusterinformers.SharedInformerFactory,
) (*ReplicaSetController, error) {
	if err := e.manager.Options.Validate(); err != nil {
		return nil, err
	}
	if e.manager.Options.WorkDriver != driverKube {
		return nil, fmt.Errorf("--work-driver=%s: inside another manager, only kube is supported", e.manager.Options.WorkDriver)
	}
	if e.config == nil {
		return nil, errNotHeard
	}
	works, err := newKubeClients(e.works)
	if err != nil {
		return nil, err
	}
	works.informer = shared
	h := newHub(e.manager, e.connection, works, e.namespace)
	if err := h.addReplicaSets(ctx, e.config, clusters.Cluster().V1beta1()); err != nil {
		return nil, err
	}
	h.started = sets.New(worksResource, placementsResource, decisionsResource)
	if err := h.noticeLosses(); err != nil {
		return nil, err
	}
	return &ReplicaSetController{hub: h}, nil
}

// ReplicaSetController is the controller of ManifestWorkReplicaSets inside another manager.
type ReplicaSetController struct{ hub *hub }

// Run first takes or restores snapshots, if the version of this module has changed. Then it starts the informers that
// the controller does not share, of ManifestWorkReplicaSets and ControllerRevisions. It begins to reconcile when all
// caches are filled, including the caches of the manager's informers, and returns once the context ends.
func (c *ReplicaSetController) Run(ctx context.Context, workers int) {
	if !c.hub.upgraded(ctx) || !c.hub.fillCaches(ctx) {
		return // The context has ended.
	}
	c.hub.reconcile(ctx, workers)
}
