// Package webhook is the admission webhook of the work hub. It reviews writes of ManifestWorks and
// ManifestWorkReplicaSets for API servers. Package validate makes the decisions. This package has the flags, the
// server, and the check whether a user may use an executor, which asks the API server.
//
// It replaces upstream's `work webhook-server`: the ClusterManager operator starts it with the same flags, service
// account, ports and certificates, and the paths are the same.
package webhook
