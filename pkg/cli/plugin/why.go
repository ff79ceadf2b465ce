package plugin

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

func newWhy(o *options) *cobra.Command {
	to := &output{}
	cmd := &cobra.Command{
		Use: "why NAME CLUSTER", GroupID: groupSee, Args: cobra.ExactArgs(2),
		ValidArgsFunction: o.completing(findClusters),
		Short:             "Explain the state of one cluster: its past events, its deadline and what it waits for",
		Example:           `  kubectl mwrs why web cluster1`,
		RunE: o.connected(func(ctx context.Context, c *clients, args []string) error {
			return o.why(ctx, c, args[0], args[1], to)
		}),
	}
	to.addFlag(cmd, "name")
	return cmd
}

func (o *options) why(ctx context.Context, c *clients, name, cluster string, to *output) error {
	objects, err := o.readWith(ctx, c, name, o.sampleReader(cluster))
	if err != nil {
		return err
	}
	story, err := view.Why(objects, cluster)
	if err != nil {
		return err
	}
	if to.isSet() {
		return to.print(o, story, cluster)
	}
	return o.printStory(story, screenOf(o.Out))
}

// printStory writes the story of a cluster.
func (o *options) printStory(story *view.Story, s screen) error {
	out := newPrinter(o.Out, s)
	about := &story.Cluster
	out.printf("%s   ", about.Name)
	out.state(string(about.State))
	if !about.Since.IsZero() {
		out.printf(" for %s", o.ago(about.Since))
	}
	out.printf("   placement %s\n", orDash(about.Placement))
	for _, fact := range story.Past {
		when := ""
		if !fact.At.IsZero() {
			when = o.ago(fact.At) + " ago"
		}
		out.prose(fmt.Sprintf("%10s  ", when), fact.Text)
	}
	for i := range story.Future {
		out.prose(fmt.Sprintf("%10s  ", strings.Replace(o.when(&story.Future[i]), "about ", "", 1)), story.Future[i].Text)
	}
	if story.Assumed != "" {
		out.prose("assumed: ", story.Assumed)
	}
	for _, note := range story.Notes {
		out.prose("note: ", note)
	}
	return out.err
}
