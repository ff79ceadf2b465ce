package sandbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	hublease "open-cluster-management.io/ocm/pkg/registration/hub/lease"
	"open-cluster-management.io/ocm/pkg/registration/hub/taint"
	agentlease "open-cluster-management.io/ocm/pkg/registration/spoke/lease"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"
	"open-cluster-management.io/sdk-go/pkg/patcher"
)

// resyncClusters is the interval at which the informers of OCM's registration resync.
const resyncClusters = 10 * time.Minute

// StartRegistration runs OCM's own controllers that watch the Leases of managed clusters, inside this process until stop is called. If a
// Lease has not been renewed for 5 times spec.leaseDurationSeconds of its ManagedCluster, they set the condition to Unknown and add the
// taint unreachable. Each cluster needs a Heartbeat.
func StartRegistration(hub *rest.Config) (stop func(), err error) {
	kube, err := kubernetes.NewForConfig(hub)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the hub: %w", err)
	}
	clusters, err := clusterclient.NewForConfig(hub)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the hub: %w", err)
	}
	leases := informers.NewSharedInformerFactoryWithOptions(kube, resyncClusters, informers.WithTweakListOptions(func(list *metav1.ListOptions) {
		list.LabelSelector = clusterv1.ClusterNameLabelKey
	}))
	managed := clusterinformers.NewSharedInformerFactory(clusters, resyncClusters)
	watched := managed.Cluster().V1().ManagedClusters()
	return run(
		[]informerFactory{leases, managed},
		hublease.NewClusterLeaseController(kube, clusters, watched, leases.Coordination().V1().Leases(), &events.FakeRecorder{}),
		taint.NewTaintController(clusters, watched),
	), nil
}

// Heartbeat keeps a managed cluster available, as OCM's registration agent does, inside this process until stop is called: OCM's own
// controller renews the Lease. It does not check the health of the cluster's API server, and reports the cluster as available.
func (f *Fleet) Heartbeat(cluster string) (stop func()) {
	managed := clusterinformers.NewSharedInformerFactoryWithOptions(f.clusters, resyncClusters,
		clusterinformers.WithTweakListOptions(func(list *metav1.ListOptions) {
			list.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, cluster).String()
		}))
	watched := managed.Cluster().V1().ManagedClusters()
	patch := patcher.NewPatcher[*clusterv1.ManagedCluster, clusterv1.ManagedClusterSpec, clusterv1.ManagedClusterStatus](
		f.clusters.ClusterV1().ManagedClusters())
	report := func(ctx context.Context, _ factory.SyncContext, _ string) error {
		now, err := watched.Lister().Get(cluster)
		if err != nil {
			return err
		}
		available := now.DeepCopy()
		meta.SetStatusCondition(&available.Status.Conditions, metav1.Condition{
			Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue,
			Reason: "ManagedClusterAvailable", Message: "Managed cluster is available",
		})
		_, err = patch.PatchStatus(ctx, available, available.Status, now.Status)
		return err
	}
	return run(
		[]informerFactory{managed},
		agentlease.NewManagedClusterLeaseController(cluster, f.kube.CoordinationV1().Leases(cluster), watched),
		factory.New().WithInformers(watched.Informer()).WithSync(report).ToController("ManagedClusterStatusController"),
	)
}

// informerFactory is the common interface of the informer factories of different clients.
type informerFactory interface {
	Start(stop <-chan struct{})
	Shutdown()
}

// run runs controllers and their informers until stop is called. stop returns once all have ended.
func run(factories []informerFactory, controllers ...factory.Controller) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, informers := range factories {
		informers.Start(ctx.Done())
	}
	for _, controller := range controllers {
		running.Go(func() { controller.Run(ctx, 1) })
	}
	return func() {
		cancel()
		running.Wait()
		for _, informers := range factories {
			informers.Shutdown()
		}
	}
}
