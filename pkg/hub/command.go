package hub

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
	commonoptions "open-cluster-management.io/ocm/pkg/common/options"

	"github.com/open-cluster-management-io/work-rollback/pkg/version"
)

// NewManagerCommand makes `work manager`: upstream's flags, by upstream's own options and library-go's command, and ours.
func NewManagerCommand() *cobra.Command {
	options := NewOptions()
	manager := &Manager{Options: options, Clock: clock.RealClock{}}
	common := commonoptions.NewOptions()
	config := common.NewControllerCommandConfig("work-manager", version.Get(), manager.Run, clock.RealClock{})

	cmd := config.NewCommandWithContext(context.Background())
	cmd.Use = "manager"
	cmd.Short = "Run the hub controllers of ManifestWorks"
	common.AddFlags(cmd.Flags())
	options.AddFlags(cmd.Flags())
	return cmd
}
