package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
)

func newKillCommand() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "kill",
		Short: "Kill the work hub of a running sandbox, as a crash does",
		Long:  "Kills the work hub of the sandbox that \"sandbox up\" keeps running, and returns when the sandbox has started it again.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if dir, err = running(dir); err != nil {
				return err
			}
			if err := sandbox.RequestKill(cmd.Context(), dir); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The work hub was killed, and is running again.")
			return nil
		},
	}
	addDirFlag(cmd, &dir)
	return cmd
}

// addDirFlag adds the flag that names a running sandbox.
func addDirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "sandbox", "", "The directory of the sandbox, if more than one is up.")
}

// running returns the directory of the named sandbox, or of the only one that is up.
func running(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	return sandbox.FindRunning()
}
