package placement

import "time"

// Clusters are managed clusters by name. They do not include clusters without a ManagedCluster.
type Clusters map[string]Cluster

// Cluster is the availability of a managed cluster.
type Cluster struct {
	// Available is true if the hub hears from the cluster's agents.
	Available bool
	// UnavailableSince is the time at which the cluster was last found unavailable, by OCM's clock; zero if that is unknown, or if this
	// process never saw it unavailable. No decision depends on the time.
	UnavailableSince time.Time
	// AvailableSince is the time at which this process first saw that the cluster is available again; zero if it never saw it unavailable.
	AvailableSince time.Time
}
