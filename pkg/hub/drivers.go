package hub

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workfactory "open-cluster-management.io/api/client/work/informers/externalversions"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions/work/v1"
	ocmfeature "open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/features"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cloudevents"
	"github.com/open-cluster-management-io/work-rollback/pkg/connectivity"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// works provides access to ManifestWorks through the driver that the flags name.
type works struct {
	client workclientset.Interface
	// metadata patches works without reading them back; nil if the driver can't.
	metadata metadata.Interface
	// owners finds the owners of works that agents report, and driver carries works; both are nil if works go through
	// the API server.
	owners   *cloudevents.Caches
	driver   *cloudevents.Driver
	informer workinformers.ManifestWorkInformer
	// labelled is true if each work with LabelOwnerHash also has LabelReplicaSet.
	labelled bool
}

// broker returns the driver; nil if works go through the API server.
func (w *works) broker() controller.Broker {
	if w.driver == nil {
		return nil
	}
	return w.driver
}

// restore returns once the hub knows all works again, because a broker does not keep them. At that time, the informers
// of the owners have synced, and the informer of works has not started.
func (w *works) restore(ctx context.Context) error {
	w.driver.Start(ctx)
	return w.driver.Restore(ctx, w.owners.Expected())
}

// newWorks returns the client and the informer of ManifestWorks for the driver that the flags name.
func (m *Manager) newWorks(ctx context.Context, config *rest.Config, connection *connectivity.Connection) (*works, error) {
	if m.Options.WorkDriver == driverKube {
		return newKubeWorks(ctx, m.Options, config, connection)
	}
	return m.newCloudEventsWorks(connection)
}

func newKubeWorks(ctx context.Context, o *Options, config *rest.Config, connection *connectivity.Connection) (*works, error) {
	if o.WorkDriverConfig != "" {
		other, err := clientcmd.BuildConfigFromFlags("", o.WorkDriverConfig)
		if err != nil {
			return nil, fmt.Errorf("--work-driver-config=%s: %w", o.WorkDriverConfig, err)
		}
		other.QPS, other.Burst = config.QPS, config.Burst
		if err := connection.Hear(other); err != nil {
			return nil, fmt.Errorf("--work-driver-config=%s: %w", o.WorkDriverConfig, err)
		}
		config = other
	}
	w, err := newKubeClients(config)
	if err != nil {
		return nil, err
	}
	w.labelled = !o.OwnerKeyHash && allLabelled(ctx, w.client)
	w.informer, err = newWorkInformer(w.client, workfactory.WithTweakListOptions(func(o *metav1.ListOptions) {
		if w.labelled && !features.HubMutableFeatureGate.Enabled(ocmfeature.CleanUpCompletedManifestWork) {
			// A hub has more works than ours, because add-ons have works on each cluster. Only the garbage collection
			// needs all works. No selector can find works that have either of the two owner labels.
			o.LabelSelector = workv1alpha1.LabelReplicaSet
		}
		replicaset.FreshList(o)
	}))
	return w, err
}

// newKubeClients returns the clients of ManifestWorks that go through an API server, without an informer.
func newKubeClients(config *rest.Config) (*works, error) {
	client, err := newWorkClientset(config)
	if err != nil {
		return nil, err
	}
	patches, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the client that patches ManifestWorks: %w", err)
	}
	return &works{client: client, metadata: patches}, nil
}

// allLabelled reports whether each work with LabelOwnerHash also has LabelReplicaSet. Only another hub writes works
// without LabelReplicaSet, and no other hub writes while this one leads.
func allLabelled(ctx context.Context, client workclientset.Interface) bool {
	list, err := client.WorkV1().ManifestWorks(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		LabelSelector: workv1alpha1.LabelOwnerHash + ",!" + workv1alpha1.LabelReplicaSet, Limit: 1,
	})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Reading all ManifestWorks: some may lack the label "+workv1alpha1.LabelReplicaSet)
	}
	return err == nil && len(list.Items) == 0
}

// newWorkInformer returns the informer of ManifestWorks. For every driver, its cache holds only the data that the
// controller reads.
func newWorkInformer(
	client workclientset.Interface, options ...workfactory.SharedInformerOption,
) (workinformers.ManifestWorkInformer, error) {
	informer := workfactory.NewSharedInformerFactoryWithOptions(client, replicaset.ResyncPeriod, options...).Work().V1().ManifestWorks()
	if err := informer.Informer().SetTransform(workcache.NewTransform()); err != nil {
		return nil, fmt.Errorf("creating the informer of ManifestWorks: %w", err)
	}
	return informer, nil
}

// newCloudEventsWorks returns a client that publishes and keeps works, and an informer of these works.
func (m *Manager) newCloudEventsWorks(connection *connectivity.Connection) (*works, error) {
	owners := cloudevents.NewCaches()
	driver, err := cloudevents.New(cloudevents.Options{
		Type:        m.Options.WorkDriver,
		ConfigFile:  m.Options.WorkDriverConfig,
		ClientID:    m.Options.CloudEventsClientID,
		Owners:      owners,
		Connection:  connection,
		AgentReturn: m.Options.CloudEventsAgentReturn,
		QPS:         m.Options.CloudEventsQPS,
		Metrics:     m.Metrics,
		Available:   owners.Available,
		Clock:       m.Clock,
	})
	if err != nil {
		return nil, err
	}
	client := driver.Works()
	informer, err := newWorkInformer(client)
	if err != nil {
		return nil, err
	}
	return &works{client: client, driver: driver, owners: owners, informer: informer}, nil
}
