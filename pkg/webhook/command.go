package webhook

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ocmfeature "open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/features"
)

// NewCommand makes `work webhook-server`: upstream's flags, and the addresses for health and metrics. Which feature gates are on
// must be known when it runs.
func NewCommand() *cobra.Command {
	options := NewOptions()
	cmd := &cobra.Command{
		Use:   "webhook-server",
		Short: "Serve the admission webhooks of ManifestWorks and ManifestWorkReplicaSets",
		// The operator's Deployment says "port=9443", without dashes. Upstream pays no attention to it either.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.Validate(); err != nil {
				return err
			}
			config, err := loadConfig(options.Kubeconfig)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			server := &Server{
				Options:     options,
				Config:      config,
				ReplicaSets: features.HubMutableFeatureGate.Enabled(ocmfeature.ManifestWorkReplicaSet),
				NilExecutor: features.HubMutableFeatureGate.Enabled(ocmfeature.NilExecutorValidating),
			}
			return server.Run(ctx)
		},
	}
	options.AddFlags(cmd.Flags())
	return cmd
}

// loadConfig reads the kubeconfig at path; without one, what KUBECONFIG names, the user's own, or that of the Pod.
func loadConfig(path string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig=%s: name a kubeconfig of the hub: %w", path, err)
	}
	// Each request may ask one question, and its user waits. The API server protects itself.
	config.QPS = -1
	return config, nil
}
