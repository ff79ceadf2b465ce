// Command upstream is the work manager of OCM as OCM ships it, with the flags of OCM's own binary. The benchmark compares this project's
// hub with it. OCM's main package can't be imported.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/logs"
	"k8s.io/utils/clock"
	ocmfeature "open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/common/options"
	"open-cluster-management.io/ocm/pkg/features"
	upstreamhub "open-cluster-management.io/ocm/pkg/work/hub"
)

func main() {
	logs.InitLogs()
	utilruntime.Must(features.HubMutableFeatureGate.Add(ocmfeature.DefaultHubWorkFeatureGates))
	err := newCommand().Execute()
	logs.FlushLogs()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	common := options.NewOptions()
	hubOptions := upstreamhub.NewWorkHubManagerOptions()
	manager := upstreamhub.NewWorkHubManagerConfig(hubOptions)
	config := common.NewControllerCommandConfig("work-manager", version.Info{GitVersion: "upstream"}, manager.RunWorkHubManager, clock.RealClock{})

	cmd := config.NewCommandWithContext(context.Background())
	cmd.Use = "manager"
	common.AddFlags(cmd.Flags())
	hubOptions.AddFlags(cmd.Flags())
	features.HubMutableFeatureGate.AddFlag(cmd.Flags())

	root := &cobra.Command{Use: "upstream", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(cmd)
	return root
}
