// Package availability reads from ManagedClusters whether OCM hears from the agents of a cluster.
package availability
