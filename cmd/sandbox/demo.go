package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/story"
)

func newDemoCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a rollout, an abort and an undo",
		Long: "Starts a sandbox, and rolls out version 1. Version 2 is broken, and the hub aborts its rollout. Then version 3 is rolled out, and " +
			"an undo returns the clusters to version 1. The demo succeeds only if it can verify each step on the API objects.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, out := cmd.Context(), cmd.OutOrStdout()
			o.whole = o.clusters // The story proves its steps on the clusters' own Deployments.
			return o.withSandbox(ctx, out, func(s *sandbox.Sandbox) error {
				begin := time.Now()
				if err := story.Play(ctx, s, out); err != nil {
					return o.explain(ctx, err, s)
				}
				fmt.Fprintf(out, "\nThe demo has ended: every step passed its check, in %v.\n", time.Since(begin).Round(time.Second))
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&o.clusters, "clusters", defaultClusters, "Number of managed clusters, about 0.5 GB of memory each.")
	o.addFlags(cmd)
	return cmd
}

// explain describes where to look after a failure.
func (o *options) explain(ctx context.Context, err error, s *sandbox.Sandbox) error {
	switch {
	case ctx.Err() != nil:
		return err
	case o.keep:
		return fmt.Errorf("%w\nThe logs are in %s", err, s.Env.Group.Path("logs"))
	default:
		return fmt.Errorf("%w\nThe end of the work hub's log:\n%s\nFor all logs run it again with --keep", err, s.WorkHub.Process().LogTail(20))
	}
}
