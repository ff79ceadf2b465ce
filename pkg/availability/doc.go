// Package availability reads from ManagedClusters whether OCM hears the agents of a cluster (R8a).
package availability
