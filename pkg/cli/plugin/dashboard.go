package plugin

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
)

// dashboardOptions holds the flags of the dashboard command.
type dashboardOptions struct {
	port          int
	all, readOnly bool
}

func newDashboard(o *options) *cobra.Command {
	flags := &dashboardOptions{}
	cmd := &cobra.Command{
		Use: "dashboard", GroupID: groupSee, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Short: "Serve a page on this machine that shows each rollout as a map of its clusters",
		Long: "Serve a page on this machine that shows each rollout as a map of its clusters, until Ctrl-C, or until\n" +
			"the page has not been used for 8 hours.\n" +
			"The page uses your permissions, and listens on 127.0.0.1 only. Anyone with the printed address can act with them until the\n" +
			"command ends. Your credentials stay in the command.",
		Example: `  # Show the rollouts in the namespace
  kubectl mwrs dashboard

  # Show all namespaces, without a way to change anything
  kubectl mwrs dashboard -A --read-only`,
		RunE: o.connected(func(ctx context.Context, c *clients, _ []string) error { return o.dashboard(ctx, c, flags) }),
	}
	f := cmd.Flags()
	f.IntVar(&flags.port, "port", 0, "Port on 127.0.0.1; 0 selects a free one")
	f.BoolVarP(&flags.all, "all-namespaces", "A", false, "Show the ManifestWorkReplicaSets in all namespaces")
	f.BoolVar(&flags.readOnly, "read-only", false, "Refuse all actions")
	return cmd
}

func (o *options) dashboard(ctx context.Context, c *clients, flags *dashboardOptions) error {
	hub := &dashboardHub{o: o, clients: c, all: flags.all}
	server, err := dashboard.Listen(ctx, hub, flags.port, flags.readOnly, o.now)
	if err != nil {
		return err
	}
	if err := o.sayf("Open %s in a browser.\nPress Ctrl-C to end the dashboard.\n", server.Address()); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { hub.watchContact(ctx); return nil })
	group.Go(func() error { return server.Serve(ctx) })
	if err := group.Wait(); !errors.Is(err, dashboard.ErrIdle) {
		return err
	}
	o.notef("The dashboard stopped: %v.\n", dashboard.ErrIdle)
	return nil
}
