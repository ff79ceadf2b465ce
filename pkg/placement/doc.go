// Package placement reads the placementRefs of a ManifestWorkReplicaSet: which clusters they select, in which decision groups, and by
// which strategy they roll out.
//
// It is pure: no client, no lister, no logger.
//
//	Which clusters and groups does a Placement select?   placement.go
//	Which placementRef does a cluster belong to?         ref.go
//	Is a cluster available?                              cluster.go
//	What does a strategy allow, and is it valid?         strategy.go
package placement
