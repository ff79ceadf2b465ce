package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	sdktls "open-cluster-management.io/sdk-go/pkg/tls"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/registration"
)

// Paths of the webhooks, as the ValidatingWebhookConfiguration of the operator (and ours) names them.
const (
	WorkPath       = "/validate-work-open-cluster-management-io-v1-manifestwork"
	ReplicaSetPath = registration.Path
)

// Server serves the webhooks.
type Server struct {
	Options *Options
	// Config is the configuration for the hub's API server, which decides about executors.
	Config *rest.Config
	// ReplicaSets is true if the webhook of ManifestWorkReplicaSets is served (feature gate ManifestWorkReplicaSet).
	ReplicaSets bool
	// NilExecutor is true if works without an executor are checked too (feature gate NilExecutorValidating).
	NilExecutor bool
}

// Run serves until the context ends. The server is ready when /readyz succeeds.
func (s *Server) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx).WithName("work-webhook")
	ctrllog.SetLogger(logger)
	bounds, err := s.Options.TLS.Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return fmt.Errorf("creating a client for the hub: %w", err)
	}
	// The manager does not need permissions on the hub, because it has no caches and no leader election.
	mgr, err := manager.New(s.Config, manager.Options{
		Logger: logger, Metrics: s.metrics(sdktls.ConfigToFunc(bounds)), HealthProbeBindAddress: addressOf(s.Options.HealthPort),
	})
	if err != nil {
		return fmt.Errorf("creating the server (see --metrics-port and --health-probe-port): %w", err)
	}
	server, err := s.listen(ctx, s.handler(client), bounds)
	if err != nil {
		return err
	}
	// The port is already open. The checks do not open a connection, because an overloaded server should stay in service.
	err = errors.Join(mgr.Add(server), mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("serving", healthz.Ping))
	if err != nil {
		return fmt.Errorf("adding the server and the health checks: %w", err)
	}
	return mgr.Start(ctx)
}

// handler returns the webhooks. controller-runtime's server, which counts the requests, is not started; see listen.
func (s *Server) handler(client kubernetes.Interface) http.Handler {
	limit := s.Options.ManifestLimit
	hooks := ctrlwebhook.NewServer(ctrlwebhook.Options{})
	hooks.Register(WorkPath, newThrottle(&admission.Webhook{Handler: &works{
		limit: limit, nilExecutor: s.NilExecutor, reviews: client.AuthorizationV1().SubjectAccessReviews(),
	}}, limit))
	if s.ReplicaSets {
		sets := &replicaSets{limit: limit, longNames: s.Options.OwnerKeyHash}
		hooks.Register(ReplicaSetPath, newThrottle(&admission.Webhook{Handler: sets}, limit))
	}
	return hooks.WebhookMux()
}
