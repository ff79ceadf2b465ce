package fleet

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

const (
	// Namespace is the namespace of the ManifestWorkReplicaSets and their Placement.
	Namespace = "bench"
	// Placement selects every cluster.
	Placement = "all"
	// sliceSize is the number of clusters that OCM writes to one PlacementDecision.
	sliceSize = 100
	// makers is the number of namespaces that are created at the same time.
	makers = 16
)

// Cluster returns the name of a cluster, which is also the name of its namespace.
func Cluster(i int) string { return fmt.Sprintf(clusterFormat, i) }

const clusterFormat = "cluster-%05d"

// Join creates n clusters: a namespace for each cluster, and the Placement that selects them. Its decisions are as OCM's placement
// controller writes them.
func Join(ctx context.Context, config *rest.Config, n int) error {
	if err := namespaces(ctx, config, n); err != nil {
		return err
	}
	clusters, err := clusterclient.NewForConfig(config)
	if err != nil {
		return err
	}
	return Place(ctx, clusters, Namespace, Placement, n)
}

// Place creates a Placement that selects n clusters, and its decisions.
func Place(ctx context.Context, clusters clusterclient.Interface, namespace, name string, n int) error {
	decisions := clusters.ClusterV1beta1().PlacementDecisions(namespace)
	for first := 0; first < n; first += sliceSize {
		decision, err := decisions.Create(ctx, emptyDecision(name, first/sliceSize), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating a PlacementDecision: %w", err)
		}
		for i := first; i < min(n, first+sliceSize); i++ {
			decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: Cluster(i)})
		}
		if _, err := decisions.UpdateStatus(ctx, decision, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("filling a PlacementDecision: %w", err)
		}
	}
	placements := clusters.ClusterV1beta1().Placements(namespace)
	placement, err := placements.Create(ctx, &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating the Placement: %w", err)
	}
	placement.Status.NumberOfSelectedClusters = int32(n) //nolint:gosec // some thousands
	if _, err = placements.UpdateStatus(ctx, placement, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("filling the Placement: %w", err)
	}
	return nil
}

func emptyDecision(placement string, slice int) *clusterv1beta1.PlacementDecision {
	return &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-decision-%d", placement, slice+1),
		Labels: map[string]string{
			clusterv1beta1.PlacementLabel: placement, clusterv1beta1.DecisionGroupIndexLabel: "0", clusterv1beta1.DecisionGroupNameLabel: "",
		},
	}}
}

func namespaces(ctx context.Context, config *rest.Config, n int) error {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	names := []string{Namespace}
	for i := range n {
		names = append(names, Cluster(i))
	}
	making, ctx := errgroup.WithContext(ctx)
	making.SetLimit(makers)
	for _, name := range names {
		making.Go(func() error {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if _, err := kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("creating namespace %s: %w", name, err)
			}
			return nil
		})
	}
	return making.Wait()
}
