// Command work is the work hub of Open Cluster Management with revision history, automatic abort and undo for
// ManifestWorkReplicaSets.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	ocmfeature "open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/features"

	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/preflight"
	"github.com/open-cluster-management-io/work-rollback/pkg/version"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook"
)

func main() {
	pflag.CommandLine.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	pflag.CommandLine.AddGoFlagSet(flag.CommandLine)
	logs.AddFlags(pflag.CommandLine)
	logs.InitLogs()
	utilruntime.Must(features.HubMutableFeatureGate.Add(ocmfeature.DefaultHubWorkFeatureGates))
	features.HubMutableFeatureGate.AddFlag(pflag.CommandLine)

	cmd := newCommand()
	cmd.SetArgs(arguments(os.Args[1:]))
	err := cmd.Execute()
	logs.FlushLogs()
	if err != nil {
		fmt.Fprintln(os.Stderr, plain.Line(err.Error()))
		os.Exit(exitCode(err))
	}
}

// arguments removes a leading "/work" from the arguments. The Deployments of OCM's operator pass it first, because OCM's own image has no
// entrypoint. This hub's image has one.
func arguments(given []string) []string {
	if len(given) > 0 && given[0] == "/work" {
		return given[1:]
	}
	return given
}

// exitCode returns the exit code of an error; 1 if the error has none.
func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return 1
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "work",
		Short:         "The work hub of Open Cluster Management, with rollback",
		Version:       version.Get().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return fmt.Errorf("name a command: work manager, work webhook-server or work preflight")
		},
	}
	cmd.AddCommand(hub.NewManagerCommand(), webhook.NewCommand(), preflight.NewCommand(), version.NewCommand())
	return cmd
}
