package hub

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	// They register the metrics of the queue, of the requests to the API server, and of leader election.
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection"
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"
	"k8s.io/utils/clock"
	commonoptions "open-cluster-management.io/ocm/pkg/common/options"

	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/version"
)

// The defaults of --kube-api-qps and --kube-api-burst. An abort must reach a thousand clusters within seconds;
// upstream's defaults of 50 and 100 would delay it. The number of writes in progress has a separate limit, so a slower
// API server is not overloaded.
const (
	defaultQPS   = 200
	defaultBurst = 400
)

// NewManagerCommand returns the command `work manager`. It has upstream's flags, from upstream's own options and
// library-go's command, and ours.
func NewManagerCommand() *cobra.Command {
	options := NewOptions()
	manager := &Manager{Options: options, Clock: clock.RealClock{}, Metrics: metrics.Default(), Version: version.Get().GitVersion}
	common := commonoptions.NewOptions()
	common.QPS, common.Burst = defaultQPS, defaultBurst
	config := common.NewControllerCommandConfig("work-manager", version.Get(), manager.Run, clock.RealClock{})

	cmd := config.NewCommandWithContext(context.Background())
	cmd.Use = "manager"
	cmd.Short = "Run the hub controllers of ManifestWorks"
	options.AddFlags(cmd.Flags())
	// OCM 1.3 also registers the TLS flags. Flags that already exist stay ours.
	upstream := pflag.NewFlagSet("upstream", pflag.ContinueOnError)
	common.AddFlags(upstream)
	cmd.Flags().AddFlagSet(upstream)
	cmd.RunE, cmd.Run = options.serve(cmd.Run), nil
	return cmd
}

// serve returns library-go's command with the TLS flags in effect. An invalid flag ends the command before it requests
// its lease.
func (o *Options) serve(run func(*cobra.Command, []string)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := o.Validate(); err != nil {
			return err
		}
		remove, err := o.TLS.ApplyToFlags(cmd.Flags())
		if err != nil {
			return err
		}
		defer remove()
		run(cmd, args)
		return nil
	}
}
