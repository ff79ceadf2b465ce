package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	kubeinformers "k8s.io/client-go/informers"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	kubeevents "k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterclientset "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions"
	clusterv1beta1 "open-cluster-management.io/api/client/cluster/informers/externalversions/cluster/v1beta1"
	placementv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ocmfeature "open-cluster-management.io/api/feature"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/features"
	"open-cluster-management.io/ocm/pkg/work/hub/controllers/manifestworkgarbagecollection"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/events"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
	"github.com/open-cluster-management-io/work-rollback/pkg/connectivity"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/registration"
)

// workers is the number of ManifestWorkReplicaSets that are reconciled at once, the same as in upstream's hub.
const workers = 5

// Manager runs the hub's controllers.
type Manager struct {
	Options *Options
	Clock   clock.PassiveClock
	// Metrics count the actions of the controllers; nil for metrics that are not served.
	Metrics *metrics.Metrics
	// Version is the version of this build. Upgrade snapshots require a released version.
	Version string
}

// Run starts the controllers whose feature gates are on, and returns once the context ends.
func (m *Manager) Run(ctx context.Context, controllerContext *controllercmd.ControllerContext) error {
	if err := m.Options.Validate(); err != nil {
		return err
	}
	m.Metrics = cmp.Or(m.Metrics, metrics.New())
	connection := connectivity.New(m.Clock)
	config := controllerContext.KubeConfig
	// This client is created before the connection is attached, because a registration that can't be read says nothing
	// about collections.
	registrations, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating the client for the webhook's registration: %w", err)
	}
	m.compareClocks(config)
	if err := connection.Hear(config); err != nil {
		return err
	}

	works, err := m.newWorks(ctx, config, connection)
	if err != nil {
		return err
	}
	h := newHub(m, connection, works, controllerContext.OperatorNamespace)
	if features.HubMutableFeatureGate.Enabled(ocmfeature.ManifestWorkReplicaSet) {
		clusterClient, err := clusterclientset.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("creating the client for Placements: %w", err)
		}
		clusters := clusterinformers.NewSharedInformerFactory(clusterClient, replicaset.ResyncPeriod).Cluster().V1beta1()
		if err := h.addReplicaSets(ctx, config, clusters); err != nil {
			return err
		}
		go (&registration.Keeper{Client: registrations}).Run(ctx)
	}
	// A broker carries only works of ManifestWorkReplicaSets, which the collection ignores.
	if works.driver == nil && features.HubMutableFeatureGate.Enabled(ocmfeature.CleanUpCompletedManifestWork) {
		h.collection = manifestworkgarbagecollection.NewManifestWorkGarbageCollectionController(works.client, collectable{works.informer})
	}
	return h.run(ctx)
}

// hub is a manager that is being assembled.
type hub struct {
	*Manager
	connection *connectivity.Connection
	works      *works

	// informers holds the informers to fill before the controllers begin, by the collection that each watches.
	informers map[schema.GroupVersionResource]cache.SharedIndexInformer
	// started holds the collections whose informers have started, or are started by another manager.
	started sets.Set[schema.GroupVersionResource]
	// replicaSets is the controller of ManifestWorkReplicaSets; nil if its feature gate is off.
	replicaSets *controller.Runner
	// other detects whether another hub is installed.
	other *otherHub
	// collection is OCM's garbage collection of completed works; nil if its feature gate is off.
	collection factory.Controller
	// withoutHistory is true if ControllerRevisions could not be read when the controller started.
	withoutHistory bool
	// namespace is the hub's namespace; empty if it is not known.
	namespace string
	// upgrade runs before the controller of ManifestWorkReplicaSets; nil if there is no such controller.
	upgrade *upgrade.Runner
}

func newHub(m *Manager, connection *connectivity.Connection, works *works, namespace string) *hub {
	return &hub{
		Manager: m, connection: connection, works: works, namespace: namespace, started: sets.New[schema.GroupVersionResource](),
		informers: map[schema.GroupVersionResource]cache.SharedIndexInformer{worksResource: works.informer.Informer()},
	}
}

// addReplicaSets adds the controller of ManifestWorkReplicaSets, and the informers that it reads.
func (h *hub) addReplicaSets(ctx context.Context, config *rest.Config, clusters clusterv1beta1.Interface) error {
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating the client for ManifestWorkReplicaSets: %w", err)
	}
	kubeClient, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating the client for ControllerRevisions: %w", err)
	}
	replicaSets, err := replicaset.NewInformer(dynamicClient)
	if err != nil {
		return fmt.Errorf("creating the informer of ManifestWorkReplicaSets: %w", err)
	}
	recorder, err := newEventRecorder(ctx, kubeClient)
	if err != nil {
		return err
	}
	clusterClient, err := clusterclientset.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating the client for ManagedClusters: %w", err)
	}
	managedClusters := availability.NewInformer(clusterClient)
	h.connection.Optional(availability.Resource)
	revisions := newRevisionInformer(kubeClient)
	h.connection.Optional(revisionsResource)
	other := &otherHub{client: kubeClient, namespace: h.namespace}
	replicaSetController, err := controller.New(controller.Config{
		Dynamic:            dynamicClient,
		Works:              h.works.client,
		Metadata:           h.works.metadata,
		Kube:               kubeClient,
		ReplicaSetInformer: replicaSets,
		WorkInformer:       h.works.informer,
		RevisionInformer:   revisions,
		PlacementInformer:  clusters.Placements(),
		DecisionInformer:   clusters.PlacementDecisions(),
		ClusterInformer:    managedClusters,
		HistoryNote:        func() string { return h.historyNote(revisions.Informer()) },
		ClustersNote:       func() string { return h.clustersNote(managedClusters) },
		HubNote:            other.text,
		Connection:         h.connection,
		Broker:             h.works.broker(),
		Recorder:           recorder,
		Metrics:            h.Metrics,
		Clock:              h.Clock,
		SuccessSettle:      h.Options.SuccessSettle,
		OwnerHash:          h.Options.OwnerKeyHash,
		AllLabelled:        h.works.labelled,
		Handover:           handover.Limits{ManifestBytes: h.Options.ManifestLimit},
	})
	if err != nil {
		return err
	}
	h.replicaSets, h.other = replicaSetController, other
	h.upgrade = upgrade.New(upgrade.Config{
		Dynamic: dynamicClient, Kube: kubeClient, Recorder: recorder, Metrics: h.Metrics, Clock: h.Clock,
		Namespace: h.namespace, Version: h.Version,
	})
	h.addInformers(dynamicClient, replicaSets, revisions.Informer(), managedClusters, clusters)
	return nil
}

// addInformers adds the informers that the controller of ManifestWorkReplicaSets reads. If works go through a broker,
// their owners are also looked up in these informers.
func (h *hub) addInformers(
	dynamicClient dynamic.Interface, replicaSets, revisions, managedClusters cache.SharedIndexInformer, clusters clusterv1beta1.Interface,
) {
	h.informers[replicaSetsResource] = replicaSets
	h.informers[revisionsResource] = revisions
	h.informers[availability.Resource] = managedClusters
	h.informers[placementsResource] = clusters.Placements().Informer()
	h.informers[decisionsResource] = clusters.PlacementDecisions().Informer()
	if owners := h.works.owners; owners != nil {
		owners.ReplicaSets, owners.Revisions, owners.Clusters = replicaSets.GetIndexer(), revisions.GetIndexer(), managedClusters
		owners.Placements, owners.Decisions = clusters.Placements().Informer().GetIndexer(), clusters.PlacementDecisions().Informer().GetIndexer()
		owners.Client = dynamicClient
	}
}

// newEventRecorder returns the recorder of events about ManifestWorkReplicaSets, with revisions as related objects, and about the ConfigMap
// that holds the version of the hub.
func newEventRecorder(ctx context.Context, client kubernetes.Interface) (kubeevents.EventRecorder, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{workv1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	recorder, err := events.NewEventRecorder(ctx, scheme, client.EventsV1(), "work-hub")
	if err != nil {
		return nil, fmt.Errorf("creating the event recorder: %w", err)
	}
	return recorder, nil
}

// newRevisionInformer returns the informer of our ControllerRevisions: the hub's own StatefulSets and DaemonSets have revisions too.
func newRevisionInformer(client kubernetes.Interface) appsinformers.ControllerRevisionInformer {
	return kubeinformers.NewSharedInformerFactoryWithOptions(client, replicaset.ResyncPeriod,
		kubeinformers.WithTransform(controller.NewRevisionTransform()),
		kubeinformers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector = workv1alpha1.LabelReplicaSet
			replicaset.FreshList(o)
		})).Apps().V1().ControllerRevisions()
}

// The collections that the controllers read.
var (
	worksResource       = schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}
	replicaSetsResource = workv1alpha1.ManifestWorkReplicaSetResource
	placementsResource  = schema.GroupVersionResource{Group: placementv1beta1.GroupName, Version: "v1beta1", Resource: "placements"}
	decisionsResource   = schema.GroupVersionResource{Group: placementv1beta1.GroupName, Version: "v1beta1", Resource: "placementdecisions"}
	// A hub without the permission to read these can roll out, but can't roll back.
	revisionsResource = appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
)

// historyNote returns why the hub can't read ControllerRevisions, with the remedy; empty if it can.
func (h *hub) historyNote(revisions cache.SharedIndexInformer) string {
	if !h.connection.Refused(revisionsResource) && (!h.withoutHistory || revisions.HasSynced()) {
		return ""
	}
	return "there is no revision history, so no rollout can be aborted: " +
		"the API server does not let this hub read ControllerRevisions. Apply this release's ClusterRole and binding (deploy/base)"
}

// clustersNote returns why the hub can't read ManagedClusters, with the remedy; empty if it can.
func (h *hub) clustersNote(clusters cache.SharedIndexInformer) string {
	if clusters.HasSynced() && !h.connection.Refused(availability.Resource) {
		return ""
	}
	return "the hub can't tell a cluster that is away from one that left: the API server does not let it read ManagedClusters. " +
		"Apply this release's ClusterRole and binding (deploy/base)"
}

// run fills the caches before it starts the controllers. With a partial cache, a controller would treat missing objects as deleted.
func (h *hub) run(ctx context.Context) error {
	if err := h.noticeLosses(); err != nil {
		return err
	}
	if h.collection != nil {
		h.collect(ctx)
	}
	if err := h.restoreWorks(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("restoring the ManifestWorks from the agents' reports: %w", err)
	}
	if !h.upgraded(ctx) {
		return nil // The context has ended.
	}
	if !h.fillCaches(ctx) {
		if ctx.Err() != nil {
			return nil
		}
		return errors.New("the caches did not fill")
	}
	if h.replicaSets == nil {
		<-ctx.Done()
		return nil
	}
	h.reconcile(ctx, workers)
	return nil
}

// reconcile runs the controller of ManifestWorkReplicaSets until the context ends.
func (h *hub) reconcile(ctx context.Context, workers int) {
	h.Metrics.Running(true)
	defer h.Metrics.Running(false)
	if h.namespace != "" {
		go h.other.watch(ctx)
	}
	h.replicaSets.Run(ctx, workers)
}

// restoreWorks restores the works from the agents' reports, if a broker carries works. The owners of works are looked
// up in the other caches. It runs before the upgrade, because the upgrade may wait for a user: in that time, an agent
// that restarts is sent its works, and keeps its objects.
func (h *hub) restoreWorks(ctx context.Context) error {
	if h.works.driver == nil || h.replicaSets == nil {
		return nil
	}
	others := slices.DeleteFunc(slices.Collect(maps.Keys(h.informers)), func(c schema.GroupVersionResource) bool { return c == worksResource })
	if !h.fill(ctx, others...) {
		return errors.New("the caches did not fill")
	}
	return h.works.restore(ctx)
}

// fillCaches starts the informers, and reports whether all caches have filled. The connection begins at that time.
func (h *hub) fillCaches(ctx context.Context) bool {
	if !h.fill(ctx, slices.Collect(maps.Keys(h.informers))...) {
		return false
	}
	h.withoutHistory = h.connection.Refused(revisionsResource)
	h.connection.Restart()
	go h.connection.KeepBeating(ctx)
	klog.FromContext(ctx).Info("The caches are filled")
	return true
}

// fill starts the informers of collections, and reports whether their caches have filled.
func (h *hub) fill(ctx context.Context, collections ...schema.GroupVersionResource) bool {
	synced := make([]cache.InformerSynced, 0, len(collections))
	for _, collection := range collections {
		informer := h.informers[collection]
		if !h.started.Has(collection) {
			h.started.Insert(collection)
			go informer.RunWithContext(ctx)
		}
		synced = append(synced, func() bool { return informer.HasSynced() || h.connection.Refused(collection) })
	}
	return cache.WaitForCacheSync(ctx.Done(), synced...)
}

// collect starts the garbage collection and its informer. The collection reads only works. So it does not wait for
// other informers, for example of Placements that the hub has no permission to read, or for the steps before ManifestWorkReplicaSets
// are reconciled.
func (h *hub) collect(ctx context.Context) {
	informer := h.works.informer.Informer()
	h.started.Insert(worksResource)
	go informer.RunWithContext(ctx)
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			h.collection.Run(ctx, workers)
		}
	}()
}

// upgraded takes or restores snapshots, and reports whether ManifestWorkReplicaSets may be reconciled: it returns false
// when the context ends. It runs before the caches are filled, so that they contain its writes. Over a broker, a cached
// status may briefly be older. The revisions are listed live (R15), and the hub does not act on a decision on which the
// status and the copy of the ledger differ.
func (h *hub) upgraded(ctx context.Context) bool {
	return h.upgrade == nil || h.upgrade.Run(ctx) == nil
}
