package hub

import (
	"context"

	"github.com/spf13/cobra"
	// They tell the endpoint of the queue, of the requests to the API server, and of who leads.
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection"
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"
	"k8s.io/utils/clock"
	commonoptions "open-cluster-management.io/ocm/pkg/common/options"

	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/version"
)

// The defaults of --kube-api-qps and --kube-api-burst. An abort has to reach a thousand clusters within seconds, and upstream's
// 50 and 100 hold it up. How many writes are under way at once is bounded beside this, so that an API server that is slower
// than this sets the pace itself.
const (
	defaultQPS   = 200
	defaultBurst = 400
)

// NewManagerCommand makes `work manager`: upstream's flags, by upstream's own options and library-go's command, and ours.
func NewManagerCommand() *cobra.Command {
	options := NewOptions()
	manager := &Manager{Options: options, Clock: clock.RealClock{}, Metrics: metrics.Default()}
	common := commonoptions.NewOptions()
	common.QPS, common.Burst = defaultQPS, defaultBurst
	config := common.NewControllerCommandConfig("work-manager", version.Get(), manager.Run, clock.RealClock{})

	cmd := config.NewCommandWithContext(context.Background())
	cmd.Use = "manager"
	cmd.Short = "Run the hub controllers of ManifestWorks"
	common.AddFlags(cmd.Flags())
	options.AddFlags(cmd.Flags())
	return cmd
}
