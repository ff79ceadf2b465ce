// Package monitoring holds the configuration of Prometheus and Grafana for the hub's metrics: kubectl apply -k
// deploy/monitoring.
package monitoring

import "embed"

// Files are the manifests, the alerts and the dashboard.
//
//go:embed *.yaml dashboard.json
var Files embed.FS
