package plugin

import (
	"context"
	"errors"
	"html/template"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
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
		Long: "Serve a page on this machine that shows each rollout as a map of its clusters, until Ctrl-C, or until\n" +
			"nobody has used the page for 8 hours.\n" +
			"The page uses your rights, and listens on 127.0.0.1 only. Whoever has the printed address can act with your rights until the\n" +
			"command ends. Your credentials stay in the command.",
		Example: `  # Show the rollouts in the namespace, and open the browser
  kubectl mwrs dashboard

  # Show all namespaces, without a way to change anything, and print the address only
  kubectl mwrs dashboard -A --read-only --no-browser`,
		RunE: o.connected(func(ctx context.Context, c *clients, _ []string) error { return o.dashboard(ctx, c, flags) }),
	}
	f := cmd.Flags()
	f.IntVar(&flags.port, "port", 0, "Port on 127.0.0.1; 0 selects a free one")
	f.BoolVarP(&flags.all, "all-namespaces", "A", false, "Show the ManifestWorkReplicaSets in all namespaces")
	f.BoolVar(&flags.readOnly, "read-only", false, "Refuse all actions")
	f.BoolVar(&flags.noBrowser, "no-browser", false, "Do not open a browser")
	return cmd
}

func (o *options) dashboard(ctx context.Context, c *clients, flags *dashboardOptions) error {
	hub := newDashboardHub(o, c, flags.all)
	server, err := dashboard.Listen(ctx, hub, flags.port, dashboard.Options{ReadOnly: flags.readOnly, Now: o.now})
	if err != nil {
		return err
	}
	if err := o.sayf("The dashboard is at %s\nPress Ctrl-C to end it.\n", server.Address()); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { hub.watchContact(ctx); return nil })
	group.Go(func() error { return server.Serve(ctx) })
	if !flags.noBrowser {
		group.Go(func() error {
			if err := openPage(ctx, server); err != nil {
				o.notef("No browser was opened (%v): open the address yourself.\n", err)
			}
			return nil
		})
	}
	if err := group.Wait(); !errors.Is(err, dashboard.ErrIdle) {
		return err
	}
	o.notef("The dashboard has ended: %v.\n", dashboard.ErrIdle)
	return nil
}

// redirect is a page that leads to an address.
var redirect = template.Must(template.New("").Parse(`<!DOCTYPE html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={{.}}">
<title>ManifestWorkReplicaSets</title>
<a href="{{.}}">Open the dashboard</a>
`))

// openWithin is how long a browser may take to open the page.
const openWithin = time.Minute

// openPage opens the page in the user's browser, and returns when that is done. All users of the machine can see the arguments of a
// process, so the address with the token is not among them: the browser opens a file that leads there, and that only the user can read.
func openPage(ctx context.Context, server *dashboard.Server) error {
	file, err := os.CreateTemp(visibleDirectory(), "kubectl-mwrs-*.html") // Its mode is 0600.
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := errors.Join(redirect.Execute(file, server.Address()), file.Close()); err != nil {
		return err
	}
	if err := openBrowser(ctx, file.Name()); err != nil {
		return err
	}
	select {
	case <-server.Opened():
	case <-time.After(openWithin):
	case <-ctx.Done():
	}
	return nil
}

// visibleDirectory returns a directory whose files the user's browser can read. On Linux, a browser in a sandbox has its own /tmp, and
// reads no hidden directory.
func visibleDirectory() string {
	if home, err := os.UserHomeDir(); err == nil && runtime.GOOS == "linux" {
		return home
	}
	return os.TempDir()
}

// openBrowser opens a file in the user's browser.
func openBrowser(ctx context.Context, file string) error {
	command := []string{"xdg-open", file}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", file}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", file}
	}
	program := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // A fixed program and a file of this process.
	if err := program.Start(); err != nil {
		return err
	}
	go func() { _ = program.Wait() }()
	return nil
}
