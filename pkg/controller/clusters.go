package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// NoteCluster notes the availability of a managed cluster. If it changed, NoteCluster returns the keys of the ManifestWorkReplicaSets with
// works there; a heartbeat changes nothing (R8a, P7). An informer calls it from its own goroutine.
func (c *Controller) NoteCluster(obj any) []string {
	cluster, ok := obj.(*clusterv1.ManagedCluster)
	if !ok {
		return nil
	}
	report, exists := availability.Of(cluster)
	if !exists {
		return c.ForgetCluster(cluster)
	}
	if !c.clusters.Note(cluster.Name, report, c.clock.Now()) {
		return nil
	}
	return c.ownersOn(cluster.Name)
}

// ForgetCluster notes that a ManagedCluster is gone, and returns the same keys.
func (c *Controller) ForgetCluster(obj any) []string {
	cluster, ok := workcache.UnwrapTombstone(obj).(*clusterv1.ManagedCluster)
	if !ok || !c.clusters.Forget(cluster.Name) {
		return nil
	}
	return c.ownersOn(cluster.Name)
}

// ownersOn returns the keys of the ManifestWorkReplicaSets with works on a cluster.
func (c *Controller) ownersOn(cluster string) []string {
	works, err := c.workIndex.ByIndex(cache.NamespaceIndex, cluster)
	if err != nil {
		return nil
	}
	var owners []string
	for _, object := range works {
		owners = append(owners, workcache.OwnerKeys(object)...)
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// noteCluster notes the availability of the cluster of a work, if the placementRef that the work names does not own it (R8a).
func (c *Controller) noteCluster(p *pass, clusters placement.Clusters, w *work.Work, owner int, selected bool) {
	if selected && p.facts.Refs[owner].Name == w.PlacementName() || p.facts.ClustersNote != "" {
		return
	}
	if known, exists := c.clusters.Of(w.Cluster(), p.now); exists {
		clusters[w.Cluster()] = known
	}
}

// clustersUnread returns why ManagedClusters can't be read, with the remedy; empty if they can. Each process makes an event of it once.
func (c *Controller) clustersUnread(p *pass) string {
	note := p.facts.ClustersNote
	if note != "" && c.memory.Reports.Announce(p.key, note) {
		c.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventClustersUnavailable, "Report", note)
	}
	return note
}
