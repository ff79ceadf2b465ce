package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
)

func newOfflineCommand() *cobra.Command {
	return newOnlineOrOfflineCommand(false, &cobra.Command{
		Use:   "offline <cluster>...",
		Short: "Disconnect managed clusters of a running sandbox from the hub",
		Long: "Stops the work agents of managed clusters in the sandbox that \"sandbox up\" keeps running. Each ManagedCluster gets the condition and the " +
			"taint that OCM sets after the cluster's lease has expired. A Placement that does not tolerate the taint deselects the cluster. The " +
			"workloads on the cluster keep running.",
	})
}

func newOnlineCommand() *cobra.Command {
	return newOnlineOrOfflineCommand(true, &cobra.Command{
		Use:   "online <cluster>...",
		Short: "Reconnect managed clusters of a running sandbox to the hub",
		Long:  "Starts the work agents that \"sandbox offline\" stopped, and reports each ManagedCluster as available.",
	})
}

// newOnlineOrOfflineCommand returns a command with the behavior that both commands share.
func newOnlineOrOfflineCommand(online bool, cmd *cobra.Command) *cobra.Command {
	dir := ""
	cmd.Args = cobra.MinimumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if dir, err = running(dir); err != nil {
			return err
		}
		for _, name := range args {
			if err := sandbox.RequestOnline(cmd.Context(), dir, name, online); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is %s.\n", name, cmd.Name())
		}
		return nil
	}
	addDirFlag(cmd, &dir)
	return cmd
}
