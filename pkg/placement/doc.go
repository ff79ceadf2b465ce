// Package placement reads what a ManifestWorkReplicaSet says about clusters: which ones its placementRefs select, in which decision groups
// (R8), and by which strategy they are rolled out (R11).
//
// It is pure: no client, no lister, no logger.
//
//	Which clusters and groups does a Placement select?   placement.go
//	Which placementRef does a cluster belong to?         ref.go
//	What does a strategy allow, and is it valid?         strategy.go
package placement
