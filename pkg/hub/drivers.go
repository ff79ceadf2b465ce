package hub

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workfactory "open-cluster-management.io/api/client/work/informers/externalversions"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions/work/v1"
	ocmfeature "open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/features"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/options"
	cloudeventswork "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/source/codec"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/store"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/builder"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
)

const (
	// sourceID is what upstream's hub calls itself to agents and brokers. Works that it published stay ours.
	sourceID = "mwrsctrl"
	// resyncPeriod is how often informers hand everything to the controllers again, as upstream's do.
	resyncPeriod = 30 * time.Minute
)

// newWorks makes the client and the informer of ManifestWorks for the driver that the flags name.
func newWorks(ctx context.Context, o *Options, config *rest.Config, connection *controller.Connection,
) (workclientset.Interface, workinformers.ManifestWorkInformer, error) {
	if o.WorkDriver == driverKube {
		return newKubeWorks(o, config, connection)
	}
	return newCloudEventsWorks(ctx, o)
}

func newKubeWorks(o *Options, config *rest.Config, connection *controller.Connection,
) (workclientset.Interface, workinformers.ManifestWorkInformer, error) {
	if o.WorkDriverConfig != "" {
		other, err := clientcmd.BuildConfigFromFlags("", o.WorkDriverConfig)
		if err != nil {
			return nil, nil, fmt.Errorf("--work-driver-config=%s: %w", o.WorkDriverConfig, err)
		}
		other.QPS, other.Burst = config.QPS, config.Burst
		other.Wrap(connection.Wrap)
		config = other
	}
	client, err := workclientset.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making the client of ManifestWorks: %w", err)
	}
	factory := workfactory.NewSharedInformerFactoryWithOptions(client, resyncPeriod,
		workfactory.WithTweakListOptions(func(o *metav1.ListOptions) {
			if !features.HubMutableFeatureGate.Enabled(ocmfeature.CleanUpCompletedManifestWork) {
				// A hub has more works than ours: add-ons have some on each cluster. Only the garbage collection wants them all.
				o.LabelSelector = workv1alpha1.LabelReplicaSet
			}
			controller.FreshList(o)
		}))
	informer := factory.Work().V1().ManifestWorks()
	if err := informer.Informer().SetTransform(controller.NewWorkTransform()); err != nil {
		return nil, nil, fmt.Errorf("making the informer of ManifestWorks: %w", err)
	}
	return client, informer, nil
}

// newCloudEventsWorks makes a client that publishes works, and an informer whose store the client fills.
func newCloudEventsWorks(ctx context.Context, o *Options) (workclientset.Interface, workinformers.ManifestWorkInformer, error) {
	_, config, err := builder.NewConfigLoader(o.WorkDriver, o.WorkDriverConfig).LoadConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("--work-driver-config=%s: %w", o.WorkDriverConfig, err)
	}
	watcherStore := store.NewSourceInformerWatcherStore(ctx)
	holder, err := cloudeventswork.NewSourceClientHolder(ctx,
		options.NewGenericClientOptions(config, codec.NewManifestBundleCodec(), o.CloudEventsClientID).
			WithSourceID(sourceID).
			WithClientWatcherStore(watcherStore))
	if err != nil {
		return nil, nil, fmt.Errorf("connecting by %s: %w", o.WorkDriver, err)
	}
	client := holder.WorkInterface()
	informer := workfactory.NewSharedInformerFactory(client, resyncPeriod).Work().V1().ManifestWorks()
	watcherStore.SetInformer(informer.Informer())
	return client, informer, nil
}
