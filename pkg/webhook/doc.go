// Package webhook is the admission webhook of the work hub: it answers API servers that ask whether a ManifestWork or a
// ManifestWorkReplicaSet may be written. What it answers is decided in package validate; here are the flags, the server, and the one
// question that it asks itself, whether a user may use an executor.
//
// It stands in for upstream's `work webhook-server`: the ClusterManager operator starts it with the same flags, service account, ports and
// certificates, and the paths are the same.
package webhook
