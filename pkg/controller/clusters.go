package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/availability"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// NoteCluster records the availability of a managed cluster. If the availability changed, NoteCluster returns the keys
// of the ManifestWorkReplicaSets with works there. A heartbeat does not change it. An informer calls NoteCluster from
// its own goroutine.
func (c *Controller) NoteCluster(obj any) []string {
	cluster, ok := obj.(*clusterv1.ManagedCluster)
	if !ok {
		return nil
	}
	report, exists := availability.ReportOf(cluster)
	if !exists {
		return c.ForgetCluster(cluster)
	}
	changed, ruled := c.clusters.Note(cluster.Name, report, c.Clock.Now())
	var keys []string
	if changed {
		keys = c.ownersOn(cluster.Name)
	}
	if ruled {
		keys = append(keys, c.selecting(cluster.Name)...)
		slices.Sort(keys)
	}
	return slices.Compact(keys)
}

// ForgetCluster records that a ManagedCluster was deleted, and returns the keys of the ManifestWorkReplicaSets with
// works there.
func (c *Controller) ForgetCluster(obj any) []string {
	cluster, ok := workcache.UnwrapTombstone(obj).(*clusterv1.ManagedCluster)
	if !ok || !c.clusters.Forget(cluster.Name) {
		return nil
	}
	return c.ownersOn(cluster.Name)
}

// ownersOn returns the keys of the ManifestWorkReplicaSets with works on a cluster.
func (c *Controller) ownersOn(cluster string) []string {
	works, err := c.stores.Works.ByIndex(cache.NamespaceIndex, cluster)
	if err != nil {
		return nil
	}
	var owners []string
	for _, object := range works {
		owners = append(owners, workcache.OwnerKeys(object)...)
	}
	owners = append(owners, c.interested(cluster)...)
	slices.Sort(owners)
	return slices.Compact(owners)
}

// interested returns the keys of the ManifestWorkReplicaSets that may depend on a cluster although they have no known work there. Over a
// broker, they list the cluster as away. Otherwise, they select it and skip unavailable clusters.
func (c *Controller) interested(cluster string) (keys []string) {
	if c.Broker != nil {
		lists := func(away workv1alpha1.AwayCluster) bool { return away.Cluster == cluster }
		for _, cached := range c.stores.ReplicaSets.List() {
			if object := cached.(*replicaset.Object); slices.ContainsFunc(object.Status.Away, lists) {
				keys = append(keys, cache.MetaObjectToName(object).String())
			}
		}
		return keys
	}
	return slices.DeleteFunc(c.selecting(cluster), func(key string) bool {
		cached, exists, _ := c.stores.ReplicaSets.GetByKey(key)
		return !exists || !cached.(*replicaset.Object).Spec.SkipsUnavailable()
	})
}

// selecting returns the keys of the ManifestWorkReplicaSets with a Placement that selects a cluster.
func (c *Controller) selecting(cluster string) (keys []string) {
	decisions, err := c.stores.Decisions.ByIndex(replicaset.ByCluster, cluster)
	if err != nil {
		return nil
	}
	for _, decision := range decisions {
		keys = append(keys, c.placementQueueKeys(decision.(*clusterv1beta1.PlacementDecision))...)
	}
	return keys
}

// holds returns the holds of the selected clusters; nil if there are none. If the hub can't read ManagedClusters, holds
// returns the holds that the status lists.
func (c *Controller) holds(p *pass, owners map[string]int) map[string]placement.Hold {
	if p.facts.ClustersNote != "" || !c.clustersSeen() {
		return status.HoldsOf(&p.object.Status)
	}
	holds, changes := c.clusters.Holds(owners, p.now)
	if !changes.IsZero() {
		p.lookAgain(changes.Sub(p.now))
	}
	return holds
}

// rememberedAway returns the clusters that the status lists as away if the hub can't read ManagedClusters; nil
// otherwise. These clusters stay away until the hub can read ManagedClusters.
func (c *Controller) rememberedAway(p *pass) placement.Clusters {
	if p.facts.ClustersNote == "" && c.clustersSeen() {
		return nil
	}
	return status.AwayOf(&p.object.Status)
}

// availabilityOf returns the availability of a cluster; false if the cluster has no ManagedCluster, or if its
// availability is unknown. For remembered, see rememberedAway.
func (c *Controller) availabilityOf(p *pass, cluster string, remembered placement.Clusters) (known placement.Cluster, exists bool) {
	known, exists = c.clusters.ClusterOf(cluster, p.now)
	if remembered == nil || exists && !known.Available {
		return known, exists
	}
	known, exists = remembered[cluster]
	return known, exists
}

// noteCluster records the availability of a work's cluster, if the placementRef that the work names does not own the
// cluster.
func (c *Controller) noteCluster(p *pass, clusters, remembered placement.Clusters, w *work.Work, owner int, selected bool) {
	if selected && p.facts.Refs[owner].Name == w.PlacementName() {
		return
	}
	if known, exists := c.availabilityOf(p, w.Cluster(), remembered); exists {
		clusters[w.Cluster()] = known
	}
}

// noteSkippable records the availability of the clusters that may be skipped. Over a broker, no cluster may be skipped.
func (c *Controller) noteSkippable(p *pass, clusters, remembered placement.Clusters) {
	for i := range p.facts.Refs {
		ref := &p.facts.Refs[i]
		if c.Broker != nil || ref.Placement == nil || !ref.Strategy.SkipsUnavailable() {
			continue
		}
		for cluster := range ref.Placement.Clusters() {
			if known, exists := c.availabilityOf(p, cluster, remembered); exists {
				clusters[cluster] = known
			}
		}
	}
}

// awayUnheard records the availability of the clusters that the status lists as away and whose works this process does
// not know, and returns these clusters. Over a broker, a restarted hub learns about a work when its agent reports it.
func (c *Controller) awayUnheard(p *pass, clusters, remembered placement.Clusters, owners map[string]int) []rollout.AwayCluster {
	if c.Broker == nil || len(p.object.Status.Away) == 0 {
		return nil
	}
	known := sets.New[string]()
	for _, work := range p.works {
		known.Insert(work.Namespace)
	}
	var unheard []rollout.AwayCluster
	for i := range p.object.Status.Away {
		listed := &p.object.Status.Away[i]
		available, exists := c.availabilityOf(p, listed.Cluster, remembered)
		if _, selected := owners[listed.Cluster]; selected || !exists || known.Has(listed.Cluster) {
			continue
		}
		clusters[listed.Cluster] = available
		unheard = append(unheard, rollout.AwayCluster{Cluster: listed.Cluster, Placement: listed.Placement, Since: available.UnavailableSince})
	}
	return unheard
}
