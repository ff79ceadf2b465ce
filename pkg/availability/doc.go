// Package availability reads from ManagedClusters whether OCM hears the agents of a cluster.
package availability
