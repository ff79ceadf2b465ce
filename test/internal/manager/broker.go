package manager

import (
	"context"
	"time"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterclientset "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions"
	workv1 "open-cluster-management.io/api/work/v1"
	upstreamhub "open-cluster-management.io/ocm/pkg/work/hub"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/options"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/source/codec"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/store"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/builder"
)

const resync = 30 * time.Minute

// UpstreamOverBroker returns OCM's own work hub with a driver other than kube. The works that it creates have the name of their
// ManifestWorkReplicaSet, as with OCM up to 1.2. The hub of 1.3.0 and 1.3.1 lets the API server generate the name, but with a broker there
// is no API server, and the client for brokers rejects a work without a name. So on those releases, only works that an older hub had
// created can be taken over.
func UpstreamOverBroker(driver, configFile, clientID string) controllercmd.StartFunc {
	return func(ctx context.Context, controllers *controllercmd.ControllerContext) error {
		replicaSets, err := workclientset.NewForConfig(controllers.KubeConfig)
		if err != nil {
			return err
		}
		clusters, err := clusterclientset.NewForConfig(controllers.KubeConfig)
		if err != nil {
			return err
		}
		_, config, err := builder.NewConfigLoader(driver, configFile).LoadConfig()
		if err != nil {
			return err
		}
		kept := store.NewSourceInformerWatcherStore(ctx)
		holder, err := work.NewSourceClientHolder(ctx, options.NewGenericClientOptions(config, codec.NewManifestBundleCodec(), clientID).
			WithSourceID("mwrsctrl").WithClientWatcherStore(kept))
		if err != nil {
			return err
		}
		client := named{holder.WorkInterface()}
		informer := workinformers.NewSharedInformerFactory(client, resync).Work().V1().ManifestWorks()
		kept.SetInformer(informer.Informer())
		return upstreamhub.RunControllerManagerWithInformers(
			ctx, controllers, replicaSets, client, informer, clusterinformers.NewSharedInformerFactory(clusters, resync))
	}
}

// named is a client of works that sets the name of a work that is created without a name.
type named struct{ workclientset.Interface }

// WorkV1 implements workclientset.Interface.
func (n named) WorkV1() workv1client.WorkV1Interface { return namedGroup{n.Interface.WorkV1()} }

type namedGroup struct{ workv1client.WorkV1Interface }

// ManifestWorks implements workv1client.WorkV1Interface.
func (n namedGroup) ManifestWorks(namespace string) workv1client.ManifestWorkInterface {
	return namedWorks{n.WorkV1Interface.ManifestWorks(namespace)}
}

type namedWorks struct {
	workv1client.ManifestWorkInterface
}

// Create implements workv1client.ManifestWorkInterface.
func (n namedWorks) Create(ctx context.Context, object *workv1.ManifestWork, opts metav1.CreateOptions) (*workv1.ManifestWork, error) {
	if object.Name == "" {
		object = object.DeepCopy()
		object.Name, object.GenerateName = object.GenerateName, ""
	}
	return n.ManifestWorkInterface.Create(ctx, object, opts)
}
