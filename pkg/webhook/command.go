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

// NewCommand returns the command `work webhook-server`, with upstream's flags and the addresses for health and metrics.
// The feature gates must be set when it runs.
func NewCommand() *cobra.Command {
	options := NewOptions()
	cmd := &cobra.Command{
		Use:   "webhook-server",
		Short: "Serve the admission webhooks of ManifestWorks and ManifestWorkReplicaSets",
		// The operator's Deployment passes "port=9443", without dashes. Upstream ignores it too.
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

// loadConfig reads the kubeconfig at path. If path is empty, it uses the kubeconfig in KUBECONFIG, the user's default
// kubeconfig, or the Pod's configuration.
func loadConfig(path string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig=%s: name a kubeconfig of the hub: %w", path, err)
	}
	// Each review may cause one request to the API server, and a user waits for it. The API server limits requests itself.
	config.QPS = -1
	return config, nil
}
