package sandbox

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
)

// ClusterSet is the ManagedClusterSet that holds every managed cluster.
const ClusterSet = "global"

// Fleet creates the objects that OCM's registration would create on a hub. The sandbox does not run the registration.
type Fleet struct {
	kube     kubernetes.Interface
	clusters clusterclient.Interface
}

// NewFleet returns the fleet of a hub.
func NewFleet(hub *rest.Config) (*Fleet, error) {
	kube, err := kubernetes.NewForConfig(hub)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the hub: %w", err)
	}
	clusters, err := clusterclient.NewForConfig(hub)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the hub: %w", err)
	}
	return &Fleet{kube: kube, clusters: clusters}, nil
}

// Namespace creates a namespace if it does not exist.
func (f *Fleet) Namespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := f.kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	return created("namespace", name, err)
}

// Join creates a managed cluster that has joined, is available, and has its namespace.
func (f *Fleet) Join(ctx context.Context, name, apiServer string) error {
	if err := f.Namespace(ctx, name); err != nil {
		return err
	}
	clusters := f.clusters.ClusterV1().ManagedClusters()
	cluster, err := clusters.Create(ctx, &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: clusterv1.ManagedClusterSpec{
			HubAcceptsClient:            true,
			ManagedClusterClientConfigs: []clusterv1.ClientConfig{{URL: apiServer}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return created("managed cluster", name, err)
	}
	for _, condition := range []string{
		clusterv1.ManagedClusterConditionHubAccepted, clusterv1.ManagedClusterConditionJoined, clusterv1.ManagedClusterConditionAvailable,
	} {
		cluster.Status.Conditions = append(cluster.Status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionTrue, Reason: "Sandbox", Message: "set by the sandbox", LastTransitionTime: metav1.Now(),
		})
	}
	if _, err := clusters.UpdateStatus(ctx, cluster, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("reporting the managed cluster %s as joined: %w", name, err)
	}
	return nil
}

// Bind creates the set of all clusters, and binds it to a namespace, so that Placements there can select from it.
func (f *Fleet) Bind(ctx context.Context, namespace string) error {
	set := &clusterv1beta2.ManagedClusterSet{
		ObjectMeta: metav1.ObjectMeta{Name: ClusterSet},
		Spec: clusterv1beta2.ManagedClusterSetSpec{ClusterSelector: clusterv1beta2.ManagedClusterSelector{
			SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{},
		}},
	}
	_, err := f.clusters.ClusterV1beta2().ManagedClusterSets().Create(ctx, set, metav1.CreateOptions{})
	if err := created("managed cluster set", ClusterSet, err); err != nil {
		return err
	}
	bindings := f.clusters.ClusterV1beta2().ManagedClusterSetBindings(namespace)
	binding, err := bindings.Create(ctx, &clusterv1beta2.ManagedClusterSetBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ClusterSet, Namespace: namespace},
		Spec:       clusterv1beta2.ManagedClusterSetBindingSpec{ClusterSet: ClusterSet},
	}, metav1.CreateOptions{})
	if err != nil {
		return created("managed cluster set binding", ClusterSet, err)
	}
	binding.Status.Conditions = []metav1.Condition{{
		Type: clusterv1beta2.ClusterSetBindingBoundType, Status: metav1.ConditionTrue,
		Reason: "ClusterSetBound", LastTransitionTime: metav1.Now(),
	}}
	if _, err := bindings.UpdateStatus(ctx, binding, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("reporting the binding of the set %s as bound: %w", ClusterSet, err)
	}
	return nil
}

// Place creates a Placement that selects every cluster of the sets that are bound to its namespace, reachable or not.
func (f *Fleet) Place(ctx context.Context, namespace, name string) error {
	placement := &clusterv1beta1.Placement{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: clusterv1beta1.PlacementSpec{Tolerations: []clusterv1beta1.Toleration{
			{Key: clusterv1.ManagedClusterTaintUnreachable, Operator: clusterv1beta1.TolerationOpExists},
			{Key: clusterv1.ManagedClusterTaintUnavailable, Operator: clusterv1beta1.TolerationOpExists},
		}},
	}
	_, err := f.clusters.ClusterV1beta1().Placements(namespace).Create(ctx, placement, metav1.CreateOptions{})
	return created("placement", name, err)
}

func created(what, name string, err error) error {
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return fmt.Errorf("creating the %s %s: %w", what, name, err)
}
