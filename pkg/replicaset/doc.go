// Package replicaset reads and patches ManifestWorkReplicaSets, even those that the types can't hold: the informer, its
// index by Placement, and the client.
package replicaset
