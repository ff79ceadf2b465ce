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
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
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

// Run serves until the context ends. It is ready when /readyz says so.
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
	client, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return fmt.Errorf("making a client of the hub: %w", err)
	}
	// The manager needs no right on the hub: nothing is cached, and nobody leads.
	mgr, err := manager.New(s.Config, manager.Options{
		Logger:                 logger,
		Metrics:                metricsserver.Options{BindAddress: s.Options.metricsAddress()},
		HealthProbeBindAddress: s.Options.healthAddress(),
		WebhookServer: ctrlwebhook.NewServer(ctrlwebhook.Options{
			Port: s.Options.Port, CertDir: s.Options.certDir(), CertName: certName, KeyName: keyName,
			TLSOpts: []func(*tls.Config){sdktls.ConfigToFunc(bounds)},
		}),
	})
	if err != nil {
		return fmt.Errorf("making the server (metrics at %s, health at %s: see --metrics-port and --health-probe-port): %w",
			s.Options.metricsAddress(), s.Options.healthAddress(), err)
	}
	// Asking for the server is what makes the manager start it.
	server := mgr.GetWebhookServer()
	err = errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("serving", server.StartedChecker()))
	if err != nil {
		return fmt.Errorf("adding the health checks: %w", err)
	}
	server.Register(WorkPath, &admission.Webhook{Handler: &works{
		limit: s.Options.ManifestLimit, nilExecutor: s.NilExecutor, reviews: client.AuthorizationV1().SubjectAccessReviews(),
	}})
	if s.ReplicaSets {
		server.Register(ReplicaSetPath, &admission.Webhook{Handler: &replicaSets{limit: s.Options.ManifestLimit}})
	}
	return mgr.Start(ctx)
}
