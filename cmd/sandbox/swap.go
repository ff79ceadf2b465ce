package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
)

func newSwapCommand() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "swap <binary>",
		Short: "Run another build of the work hub in a running sandbox",
		Long: "Runs another build of the work hub, and of its webhook, in the sandbox that \"sandbox up\" keeps running, like a new image on a hub. " +
			"If the build does not start, the previous build keeps running. \"make build VERSION=v1.2.3\" makes a build with a version: " +
			"the hub takes upgrade snapshots between two such builds.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if dir, err = running(dir); err != nil {
				return err
			}
			if err := sandbox.RequestSwap(cmd.Context(), dir, args[0]); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The sandbox runs", args[0])
			return nil
		},
	}
	addDirFlag(cmd, &dir)
	return cmd
}
