package plugin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/open-cluster-management-io/work-rollback/pkg/dashboard"
)

// dashboardOptions holds the flags of the dashboard command.
type dashboardOptions struct {
	port                     int
	all, readOnly, noBrowser bool
}

func newDashboard(o *options) *cobra.Command {
	flags := &dashboardOptions{}
	cmd := &cobra.Command{
		Use: "dashboard", GroupID: groupSee, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Short: "Serve a page on this machine that shows each rollout as a map of its clusters",
		Long: "Serve a page on this machine that shows each rollout as a map of its clusters, until Ctrl-C.\n" +
			"The page uses your rights, and listens on 127.0.0.1 only. Whoever has the printed address can act with your rights until the\n" +
			"command ends. Your credentials stay in the command.",
		Example: `  # Show the rollouts in the namespace, and open the browser
  kubectl mwrs dashboard

  # Show all namespaces, without a way to change anything, and print the address only
  kubectl mwrs dashboard -A --read-only --no-browser`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.dashboard(cmd.Context(), flags) },
	}
	f := cmd.Flags()
	f.IntVar(&flags.port, "port", 0, "Port on 127.0.0.1; 0 selects a free one")
	f.BoolVarP(&flags.all, "all-namespaces", "A", false, "Show the ManifestWorkReplicaSets in all namespaces")
	f.BoolVar(&flags.readOnly, "read-only", false, "Refuse all actions")
	f.BoolVar(&flags.noBrowser, "no-browser", false, "Do not open a browser")
	return cmd
}

func (o *options) dashboard(ctx context.Context, flags *dashboardOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := o.connect()
	if err != nil {
		return err
	}
	hub := newDashboardHub(o, c, flags.all)
	server, err := dashboard.Listen(ctx, hub, flags.port, dashboard.Options{ReadOnly: flags.readOnly, Now: o.now})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.Out, "The dashboard is at %s\nPress Ctrl-C to end it.\n", server.Address()); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { hub.watchContact(ctx); return nil })
	group.Go(func() error { return server.Serve(ctx) })
	if !flags.noBrowser {
		if err := openBrowser(ctx, server.Once()); err != nil {
			_, _ = fmt.Fprintf(o.ErrOut, "No browser was opened (%v): open the address yourself.\n", err)
		}
	}
	return group.Wait()
}

// openBrowser opens an address in the user's browser.
func openBrowser(ctx context.Context, address string) error {
	command := []string{"xdg-open", address}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", address}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	}
	program := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // A fixed program and an address of this process.
	if err := program.Start(); err != nil {
		return err
	}
	go func() { _ = program.Wait() }()
	return nil
}
