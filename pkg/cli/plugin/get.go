package plugin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

func newGet(o *options) *cobra.Command {
	flags := &listOptions{}
	cmd := &cobra.Command{
		Use: "get [NAME]", GroupID: groupSee, Args: cobra.MaximumNArgs(1), ValidArgsFunction: o.completing(findNames),
		Short: "Show a rollout on one screen: its state, the causes, the clusters that need attention and the commands to run next",
		Long: "Show a rollout on one screen: its state, the causes, the clusters that need attention and the commands to run next.\n" +
			"Without a name, list the ManifestWorkReplicaSets, as the list command does.",
		Example: `  # Show the rollout of web
  kubectl mwrs get web

  # Follow the rollout until Ctrl-C
  kubectl mwrs get web -w`,
		RunE: o.connected(func(ctx context.Context, c *clients, args []string) error {
			switch {
			case len(args) == 0:
				return o.list(ctx, c, flags)
			case flags.watch:
				return o.watchFleet(ctx, c, args[0])
			}
			return o.get(ctx, c, args[0], &flags.output)
		}),
	}
	flags.addFlags(cmd, "Follow the rollout until Ctrl-C, and redraw the screen in place")
	return cmd
}

func (o *options) get(ctx context.Context, c *clients, name string, to *output) error {
	objects, err := o.readWith(ctx, c, name, o.sampleReader())
	if err != nil {
		return err
	}
	f := view.FleetOf(objects)
	if to.isSet() {
		return to.print(o, f, resourceOf(name))
	}
	return o.printFleet(o.Out, f)
}

// barWidth is the width of a progress bar in characters.
const barWidth = 20

func (o *options) printFleet(to io.Writer, f *view.Fleet) error {
	return o.drawFleet(to, to, f, screenOf(to))
}

// drawFleet writes the screen of a rollout. Its foot has the commands to run next, and the location of the runbook.
func (o *options) drawFleet(body, foot io.Writer, f *view.Fleet, s screen) error {
	out := newPrinter(body, s)
	out.alarms(f.Alarms)
	o.headline(out, f)
	for _, note := range f.Notes {
		out.prose("note     ", note)
	}
	if f.Why != "" {
		out.prose("why      ", f.Why)
	}
	for _, cause := range f.Causes {
		out.prose(fmt.Sprintf("         %d  ", len(cause.Clusters)),
			cause.Text()+" ("+view.FirstOf(cause.Clusters, namesShown, " ")+")")
	}
	for i := range f.Approvals {
		out.prose(once(i, "approval "), f.Approvals[i].Text())
	}
	if f.Reached != nil {
		out.prose("reached  ", f.Reached.Text(o.age))
	}
	o.printThen(out, f.Then)
	if f.Estimate != nil {
		out.prose("ends     ", o.estimate(f.Estimate))
	}
	out.table(o.revisionTable(f.Revisions))
	out.table(barTable(f.Bars))
	if len(f.Attention) > 0 {
		out.table(o.clusterTable(asClusters(f.Attention), false))
	}
	for i, count := range f.Rest {
		out.prose(once(i, "and "), count.Text())
	}
	if out.err != nil {
		return out.err
	}
	return printNext(newPrinter(foot, s), f)
}

// printNext prints the commands to run next, and the location of the runbook.
func printNext(out *printer, f *view.Fleet) error {
	for i, next := range f.Next {
		out.prose(once(i, "Next  "), next.Purpose+":")
		out.command(8, next.Args)
	}
	out.runbook(f.Runbook)
	return out.err
}

// headline writes the name, the state and the progress: on one line, or on two if the screen is too narrow.
func (o *options) headline(out *printer, f *view.Fleet) {
	name, since := f.Namespace+"/"+f.Name, ""
	if !f.Since.IsZero() {
		since = " for " + o.ago(f.Since)
	}
	out.printf("%s   ", name)
	out.state(string(f.State))
	out.text(since)
	switch line := name + "   " + string(f.State) + since + "   " + f.Summary; {
	case f.Summary == "":
		out.text("\n")
	case out.screen.width > 0 && plain.Width(line) > out.screen.width:
		out.text("\n")
		out.prose("         ", f.Summary)
	default:
		out.printf("   %s\n", f.Summary)
	}
}

// printThen prints the next actions of the hub and their times.
func (o *options) printThen(out *printer, then []view.Fact) {
	for i := range then {
		out.prose(once(i, "then     "), o.when(&then[i])+": "+then[i].Text)
	}
}

// once returns the label for the first of several texts, and spaces of the same width for the others.
func once(i int, label string) string {
	if i > 0 {
		return strings.Repeat(" ", len(label))
	}
	return label
}

// when returns the time left until a fact.
func (o *options) when(fact *view.Fact) string {
	if fact.At.IsZero() {
		return "now"
	}
	return "in about " + o.in(fact.At)
}

// estimate describes the expected end of a rollout.
func (o *options) estimate(e *view.Estimate) string {
	return fmt.Sprintf("the clusters in progress in about %s, the rollout in about %s (clusters measured: %d, median %s)",
		o.in(e.Wave), o.in(e.Rollout), e.Clusters, o.age(e.Each.Duration))
}

func (o *options) revisionTable(revisions []view.Revision) *table {
	return tableOf([]column{
		{name: "REVISION"}, {name: "HASH", drop: 5}, {name: "STATE", state: true}, {name: "NOW"}, {name: "REACHED"},
		{name: "STARTED", drop: 2}, {name: "ENDED", drop: 3}, {name: "CHANGE-CAUSE", drop: 1}, {name: "BY", drop: 4},
	}, revisions, o.revisionRow)
}

func (o *options) revisionRow(r *view.Revision) []string {
	role := ""
	switch {
	case r.Update && r.Current:
		role = " update, current"
	case r.Update:
		role = " update"
	case r.Current:
		role = " current"
	}
	reached, now := "-", "-"
	if r.Now >= 0 {
		now = strconv.Itoa(int(r.Now))
	}
	if r.Reached != nil {
		reached = strconv.Itoa(int(*r.Reached))
	}
	return []string{
		strconv.FormatInt(r.Number, 10) + role, r.Hash, orDash(string(r.State)), now, reached,
		o.ago(r.Started), o.ago(r.Ended), orDash(r.ChangeCause), orDash(r.CreatedBy),
	}
}

// barTable returns a table with a bar for each placementRef, and below it a bar for each of its decision groups.
func barTable(bars []view.Bar) *table {
	t := tableOf([]column{{}, {drop: 1}, {}, {}}, bars, func(b *view.Bar) []string {
		name := b.Placement
		if b.Group != "" {
			name = "  " + b.Group
		}
		return []string{name, drawn(b.Done, b.Total), fmt.Sprintf("%d/%d", b.Done, b.Total), b.Strategy}
	})
	t.bare = true
	return t
}

func drawn(done, total int) string {
	full := 0
	if total > 0 {
		full = min(barWidth, done*barWidth/total)
	}
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}

func orDash(text string) string { return cmp.Or(text, "-") }

// The maximum numbers of cluster names shown for a cause, and for a row of similar clusters.
const (
	namesShown = 8
	alikeNames = 2
)

// asClusters returns one cluster for each row. Its name lists all clusters of the row.
func asClusters(rows []view.Alike) []view.Cluster {
	clusters := make([]view.Cluster, 0, len(rows))
	for i := range rows {
		c := rows[i].Cluster
		c.Name = view.FirstOf(rows[i].Names, alikeNames, " ")
		clusters = append(clusters, c)
	}
	return clusters
}

// in returns the time left until a given time.
func (o *options) in(at time.Time) string { return o.age(max(0, at.Sub(o.now()))) }
