package manager

import (
	"context"
	"time"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	clusterclientset "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions"
	"open-cluster-management.io/ocm/pkg/work/hub/controllers/manifestworkgarbagecollection"

	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
)

// Embedding returns a manager that is built like OCM's own, with OCM's garbage collection of completed works, and with this project's
// controller instead of OCM's for ManifestWorkReplicaSets. hack/ocm has the corresponding patch.
func Embedding(embedded *hub.Embedded) controllercmd.StartFunc {
	return func(ctx context.Context, controllers *controllercmd.ControllerContext) error {
		controllers, err := embedded.Hear(controllers)
		if err != nil {
			return err
		}
		clusterClient, err := clusterclientset.NewForConfig(controllers.KubeConfig)
		if err != nil {
			return err
		}
		// OCM creates a separate client for works from the kubeconfig in --work-driver-config.
		config, err := embedded.HearWorks(controllers.KubeConfig)
		if err != nil {
			return err
		}
		workClient, err := workclientset.NewForConfig(config)
		if err != nil {
			return err
		}
		clusters := clusterinformers.NewSharedInformerFactory(clusterClient, 30*time.Minute)
		works := workinformers.NewSharedInformerFactoryWithOptions(workClient, 30*time.Minute,
			workinformers.WithTweakListOptions(hub.FreshList)).Work().V1().ManifestWorks()
		replicaSets, err := embedded.NewReplicaSetController(ctx, works, clusters)
		if err != nil {
			return err
		}
		collection := manifestworkgarbagecollection.NewManifestWorkGarbageCollectionController(workClient, works)

		clusters.Start(ctx.Done())
		go replicaSets.Run(ctx, 5)
		go collection.Run(ctx, 5)
		go works.Informer().RunWithContext(ctx)
		<-ctx.Done()
		return nil
	}
}
