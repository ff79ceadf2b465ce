// Command sandbox runs an Open Cluster Management hub with this project's work hub, and its managed clusters, on this
// machine, for demos, experiments and tests. It needs only Go.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second Ctrl-C ends this process immediately; the watchdog cleans up after it.
	context.AfterFunc(ctx, stop)
	err := newCommand().ExecuteContext(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		// The running operation failed because of the interrupt.
		fmt.Fprintln(os.Stderr, "Interrupted.")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "sandbox",
		Short:         "An Open Cluster Management hub and its managed clusters on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newToolsCommand(), newDemoCommand(), newUpCommand(), newEnvCommand(), newSwapCommand(), newKillCommand(),
		newOfflineCommand(), newOnlineCommand())
	return root
}
