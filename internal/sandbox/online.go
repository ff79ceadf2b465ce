package sandbox

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// SetOnline starts or stops the agent of a managed cluster, and reports the cluster as available or unreachable. The workloads on the
// cluster keep running.
func (s *Sandbox) SetOnline(ctx context.Context, name string, online bool) error {
	switch whole := slices.IndexFunc(s.Clusters, func(c *ManagedCluster) bool { return c.Name == name }); {
	case slices.Contains(s.LightClusters, name):
		s.LightAgents.SetOnline(name, online)
	case whole < 0:
		return fmt.Errorf("the sandbox has no cluster %q", name)
	case online:
		s.Clusters[whole].Agent.Start()
	default:
		s.Clusters[whole].Agent.Stop()
	}
	return s.Fleet.SetAvailable(ctx, name, online)
}

// SetAvailable reports a managed cluster as OCM's registration does: as available, or as unreachable because its agent stopped updating its
// lease. The condition comes first, and the taint follows from it.
func (f *Fleet) SetAvailable(ctx context.Context, name string, available bool) error {
	reported := metav1.Condition{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue,
		Reason: "ManagedClusterAvailable", Message: "Managed cluster is available",
	}
	if !available {
		reported.Status, reported.Reason = metav1.ConditionUnknown, "ManagedClusterLeaseUpdateStopped"
		reported.Message = "Registration agent stopped updating its lease."
	}
	clusters := f.clusters.ClusterV1().ManagedClusters()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		cluster, err := clusters.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if meta.SetStatusCondition(&cluster.Status.Conditions, reported) {
			if cluster, err = clusters.UpdateStatus(ctx, cluster, metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
		cluster.Spec.Taints = taintsOf(cluster.Spec.Taints, available)
		_, err = clusters.Update(ctx, cluster, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("reporting the availability of the managed cluster %s: %w", name, err)
	}
	return nil
}

// taintsOf returns the taints of a cluster, with or without the taint for an unreachable cluster.
func taintsOf(taints []clusterv1.Taint, available bool) []clusterv1.Taint {
	isUnreachable := func(t clusterv1.Taint) bool { return t.Key == clusterv1.ManagedClusterTaintUnreachable }
	switch {
	case available:
		return slices.DeleteFunc(taints, isUnreachable)
	case slices.ContainsFunc(taints, isUnreachable):
		return taints
	}
	return append(taints, clusterv1.Taint{
		Key: clusterv1.ManagedClusterTaintUnreachable, Effect: clusterv1.TaintEffectNoSelect, TimeAdded: metav1.Now(),
	})
}
