package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	sdktls "open-cluster-management.io/sdk-go/pkg/tls"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Paths of the webhooks, as the ValidatingWebhookConfiguration of the operator (and ours) names them.
const (
	WorkPath       = "/validate-work-open-cluster-management-io-v1-manifestwork"
	ReplicaSetPath = "/validate-work-open-cluster-management-io-v1alpha1-manifestworkreplicaset"
)

// Server serves the webhooks.
type Server struct {
	Options *Options
	// Config is for the API server of the hub, which is asked about executors.
	Config *rest.Config
	// ReplicaSets serves the webhook of ManifestWorkReplicaSets (feature gate ManifestWorkReplicaSet).
	ReplicaSets bool
	// NilExecutor asks also about works that name no executor (feature gate NilExecutorValidating).
	NilExecutor bool
}

// Run serves until the context ends. It is ready when /readyz succeeds.
func (s *Server) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx).WithName("work-webhook")
	ctrllog.SetLogger(logger)
	bounds, err := s.Options.TLS.Config()
	if err != nil {
		return err
	}
	if bounds == nil {
		bounds = sdktls.GetDefaultTLSConfig()
	}
	webhookTLS, err := s.webhookTLS(bounds)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return fmt.Errorf("making a client of the hub: %w", err)
	}
	// The manager needs no permissions on the hub: it caches nothing, and elects no leader.
	mgr, err := manager.New(s.Config, manager.Options{
		Logger:                 logger,
		Metrics:                s.metrics(sdktls.ConfigToFunc(bounds)),
		HealthProbeBindAddress: s.Options.healthAddress(),
		WebhookServer: newBoundedServer(ctrlwebhook.Options{
			Port: s.Options.Port, CertDir: s.Options.certDir(), CertName: certName, KeyName: keyName,
			TLSOpts: webhookTLS,
		}),
	})
	if err != nil {
		return fmt.Errorf("making the server (metrics at %s, health at %s: see --metrics-port and --health-probe-port): %w",
			s.Options.metricsAddress(), s.Options.healthAddress(), err)
	}
	// The call makes the manager start the server.
	server := mgr.GetWebhookServer()
	err = errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("serving", server.StartedChecker()))
	if err != nil {
		return fmt.Errorf("adding the health checks: %w", err)
	}
	limit := s.Options.ManifestLimit
	server.Register(WorkPath, newThrottle(&admission.Webhook{Handler: &works{
		limit: limit, nilExecutor: s.NilExecutor, reviews: client.AuthorizationV1().SubjectAccessReviews(),
	}}, limit))
	if s.ReplicaSets {
		server.Register(ReplicaSetPath, newThrottle(&admission.Webhook{Handler: &replicaSets{limit: limit}}, limit))
	}
	return mgr.Start(ctx)
}

// webhookTLS is how the webhooks are served: within the bounds of the flags, and to clients with a certificate where the hub has
// authorities for them.
func (s *Server) webhookTLS(bounds *sdktls.TLSConfig) ([]func(*tls.Config), error) {
	options := []func(*tls.Config){sdktls.ConfigToFunc(bounds)}
	authorities, err := s.Options.clientCAs()
	if err != nil {
		return nil, err
	}
	if authorities != nil {
		options = append(options, askForCertificates(authorities))
	}
	return options, nil
}
