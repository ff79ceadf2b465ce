package story

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/client/clientset/versioned"
)

// facts are the API objects of the story at a point in time.
type facts struct {
	mwrs      *workv1alpha1.ManifestWorkReplicaSet
	revisions []appsv1.ControllerRevision
	clusters  []clusterFacts
}

// clusterFacts are the facts of one managed cluster.
type clusterFacts struct {
	name string
	// work is on the hub, and deployment on the managed cluster. Each may be missing.
	work       *workv1.ManifestWork
	deployment *appsv1.Deployment
	// replicaSets show which versions a cluster has ever run.
	replicaSets []appsv1.ReplicaSet
}

// observer reads facts from the API servers.
type observer struct {
	mwrs     versioned.Interface
	works    workclient.Interface
	kube     kubernetes.Interface
	clusters []clusterClient
}

type clusterClient struct {
	name string
	kube kubernetes.Interface
}

func newObserver(s *sandbox.Sandbox) (*observer, error) {
	o := &observer{}
	var err error
	hub := s.Hub.RESTConfig()
	if o.mwrs, err = versioned.NewForConfig(hub); err != nil {
		return nil, fmt.Errorf("creating a client for the hub: %w", err)
	}
	if o.works, err = workclient.NewForConfig(hub); err != nil {
		return nil, fmt.Errorf("creating a client for the hub: %w", err)
	}
	if o.kube, err = kubernetes.NewForConfig(hub); err != nil {
		return nil, fmt.Errorf("creating a client for the hub: %w", err)
	}
	for _, cluster := range s.Clusters {
		kube, err := kubernetes.NewForConfig(cluster.RESTConfig())
		if err != nil {
			return nil, fmt.Errorf("creating a client for %s: %w", cluster.Name, err)
		}
		o.clusters = append(o.clusters, clusterClient{name: cluster.Name, kube: kube})
	}
	return o, nil
}

// observe reads the hub first and then the clusters, so the state of a cluster is never older than the hub's state.
func (o *observer) observe(ctx context.Context) (*facts, error) {
	f := &facts{}
	var err error
	f.mwrs, err = o.mwrs.WorkV1alpha1().ManifestWorkReplicaSets(sandbox.Namespace).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the ManifestWorkReplicaSet: %w", err)
	}
	owned := metav1.ListOptions{LabelSelector: workv1alpha1.LabelReplicaSet + "=" + f.mwrs.Namespace + "." + f.mwrs.Name}
	revisions, err := o.kube.AppsV1().ControllerRevisions(f.mwrs.Namespace).List(ctx, owned)
	if err != nil {
		return nil, fmt.Errorf("reading the revisions: %w", err)
	}
	f.revisions = revisions.Items
	works, err := o.works.WorkV1().ManifestWorks(metav1.NamespaceAll).List(ctx, owned)
	if err != nil {
		return nil, fmt.Errorf("reading the ManifestWorks: %w", err)
	}
	for _, client := range o.clusters {
		cluster := clusterFacts{name: client.name}
		for i := range works.Items {
			if works.Items[i].Namespace == client.name {
				cluster.work = &works.Items[i]
			}
		}
		if err := client.observe(ctx, &cluster); err != nil {
			return nil, err
		}
		f.clusters = append(f.clusters, cluster)
	}
	return f, nil
}

func (c clusterClient) observe(ctx context.Context, cluster *clusterFacts) error {
	deployment, err := c.kube.AppsV1().Deployments(deploymentNamespace).Get(ctx, "web", metav1.GetOptions{})
	switch {
	case err == nil:
		cluster.deployment = deployment
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading the Deployment of %s: %w", c.name, err)
	}
	replicaSets, err := c.kube.AppsV1().ReplicaSets(deploymentNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		return fmt.Errorf("reading the ReplicaSets of %s: %w", c.name, err)
	}
	cluster.replicaSets = replicaSets.Items
	return nil
}
