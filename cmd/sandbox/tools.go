package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/tools"
)

func newToolsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tools",
		Short: "Build etcd, kube-apiserver, kube-controllers and kubectl if they are not cached yet",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			built, err := tools.Ensure(cmd.Context(), cmd.ErrOrStderr(), "")
			if err != nil {
				return err
			}
			for _, path := range []string{built.Etcd, built.KubeAPIServer, built.KubeControllers, built.Kubectl} {
				fmt.Fprintln(cmd.OutOrStdout(), path)
			}
			return nil
		},
	}
}
