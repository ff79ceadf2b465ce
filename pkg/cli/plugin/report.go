package plugin

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/report"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

func newReport(o *options) *cobra.Command {
	file := ""
	cmd := o.named(&cobra.Command{
		Use: "report NAME", GroupID: groupSee,
		Short: "Write a report about a rollout as one HTML page",
		Long: "Write a report about a rollout as one HTML page, for example for a post-mortem.\n" +
			"The page has no scripts and loads nothing. The values of Secrets are masked.",
		Example: `  # Write the report to a file
  kubectl mwrs report web -o web.html`,
	}, func(ctx context.Context, c *clients, name string) error { return o.writeReport(ctx, c, name, file) })
	cmd.Flags().StringVarP(&file, "output", "o", "", "The file to write (default: standard output)")
	return cmd
}

func (o *options) writeReport(ctx context.Context, c *clients, name, file string) error {
	page, err := o.reportPage(ctx, c, name)
	if err != nil {
		return err
	}
	if file == "" || file == "-" {
		_, err = plain.Raw(o.Out).Write(page) // The page has its own escapes.
		return err
	}
	return os.WriteFile(file, page, 0o600)
}

// reportPage returns the page of a report.
func (o *options) reportPage(ctx context.Context, c *clients, name string) ([]byte, error) {
	objects, err := o.read(ctx, c, name)
	if err != nil {
		return nil, err
	}
	in := &report.Input{
		Fleet: view.FleetOf(objects), Clusters: view.Clusters(objects), Events: view.Timeline(objects), Now: objects.Now,
	}
	if in.Diff, in.NoDiff, err = difference(objects, in.Fleet.Revisions); err != nil {
		return nil, err
	}
	return report.Render(in)
}

// difference returns the diff from the current revision to the update revision, or the reason why there is no diff.
func difference(objects *view.Objects, revisions []view.Revision) (diff, none string, err error) {
	current := slices.IndexFunc(revisions, func(r view.Revision) bool { return r.Current })
	update := slices.IndexFunc(revisions, func(r view.Revision) bool { return r.Update })
	switch {
	case current < 0 || update < 0:
		return "", "There is no current revision or no update revision to compare.", nil
	case current == update:
		return "", "The update revision is the current revision.", nil
	}
	before, _, errBefore := templateOf(objects, revisions[current].Number)
	after, _, errAfter := templateOf(objects, revisions[update].Number)
	if err := errors.Join(errBefore, errAfter); err != nil {
		return "", "There is no difference to show: " + err.Error() + ".", nil
	}
	diff, err = plainDiff(before, after)
	if diff == "" {
		none = "The manifests of the revisions do not differ."
	}
	return diff, none, err
}
