// Package monitoring holds what makes Prometheus and Grafana read the hub's metrics: kubectl apply -k deploy/monitoring.
package monitoring

import "embed"

// Files are the manifests, the alerts and the dashboard.
//
//go:embed *.yaml dashboard.json
var Files embed.FS
