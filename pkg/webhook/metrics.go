package webhook

import (
	"crypto/tls"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metrics serves /metrics as the manager does: over TLS, and only to clients whose token has permission.
func (s *Server) metrics(bounds func(*tls.Config)) metricsserver.Options {
	return metricsserver.Options{
		BindAddress: addressOf(s.Options.MetricsPort), SecureServing: true, FilterProvider: withToken,
		CertDir: s.Options.certDir(), CertName: certName, KeyName: keyName, TLSOpts: []func(*tls.Config){bounds},
	}
}

// withToken asks the API server for the user of a token, and whether that user may read the metrics. OCM's own role for
// the webhook permits only the second request. Without both permissions, the metrics can't be read, and the log names
// the missing permission.
func withToken(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	filter, err := filters.WithAuthenticationAndAuthorization(config, client)
	if err != nil {
		return nil, err
	}
	return func(log klog.Logger, handler http.Handler) (http.Handler, error) {
		return filter(log.WithValues("remedy", "bind the service account of the webhook to the ClusterRole system:auth-delegator, "+
			"as deploy/monitoring does"), handler)
	}, nil
}
