package plugin

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/open-cluster-management-io/work-rollback/pkg/view"
)

func newGet(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "get NAME", GroupID: groupSee, Args: cobra.ExactArgs(1), ValidArgsFunction: o.completeName,
		Short: "Show a rollout on one screen: its state, the causes, the clusters that need attention and the commands to run next",
		Example: `  # Show the rollout of web
  kubectl mwrs get web

  # Refresh the screen every 5 seconds
  watch -n 5 kubectl mwrs get web`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.get(cmd.Context(), args[0]) },
	}
}

func (o *options) get(ctx context.Context, name string) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	objects, err := o.read(ctx, c, name)
	if err != nil {
		return err
	}
	return o.printFleet(o.Out, view.Of(objects))
}

// barWidth is the width of a progress bar in characters.
const barWidth = 20

func (o *options) printFleet(to io.Writer, f *view.Fleet) error {
	out := &printer{Writer: to}
	out.printf("%s/%s   %s %s   %s\n", f.Namespace, f.Name, f.State, o.ago(f.Since), f.Summary)
	for _, note := range f.Notes {
		out.printf("note     %s\n", note)
	}
	if f.Why != "" {
		out.printf("why      %s\n", oneLine(f.Why))
	}
	for _, cause := range f.Causes {
		out.printf("         %d  %s: %s   %s\n", len(cause.Clusters), cause.Reason, oneLine(cause.Message), firstOf(cause.Clusters))
	}
	out.table(func(w io.Writer) { o.printRevisions(w, f.Revisions) })
	out.table(func(w io.Writer) {
		for _, bar := range f.Bars {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%d/%d\t%s\n", bar.Placement, drawn(bar.Done, bar.Total), bar.Done, bar.Total, bar.Strategy)
		}
	})
	if len(f.Attention) > 0 {
		out.table(func(w io.Writer) { o.printClusters(w, f.Attention, false) })
	}
	if counts := f.Counts(); len(counts) > 0 {
		out.printf("and %s\n", strings.Join(counts, ", "))
	}
	for i, next := range f.Next {
		label := "Next"
		if i > 0 {
			label = ""
		}
		out.printf("%-5s %s:\n        %s\n", label, next.Purpose, next.Line)
	}
	return out.err
}

// printer writes until the first error, and keeps that error.
type printer struct {
	io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.Writer, format, args...)
	}
}

func (p *printer) table(fill func(io.Writer)) {
	if p.err != nil {
		return
	}
	w := printers.GetNewTabWriter(p.Writer)
	fill(w)
	p.err = w.Flush()
}

func (o *options) printRevisions(w io.Writer, revisions []view.Revision) {
	_, _ = fmt.Fprintln(w, "REVISION\tHASH\tSTATE\tNOW\tREACHED\tSTARTED\tENDED\tCHANGE-CAUSE\tBY")
	for i := range revisions {
		r := &revisions[i]
		role := ""
		switch {
		case r.Update && r.Current:
			role = " update, current"
		case r.Update:
			role = " update"
		case r.Current:
			role = " current"
		}
		reached := "-"
		if r.Reached != nil {
			reached = strconv.Itoa(int(*r.Reached))
		}
		_, _ = fmt.Fprintf(w, "%d%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", r.Number, role, r.Hash, r.State, r.Now, reached,
			o.ago(r.Started), o.ago(r.Ended), orDash(oneLine(r.ChangeCause)), orDash(oneLine(r.CreatedBy)))
	}
}

func drawn(done, total int) string {
	full := 0
	if total > 0 {
		full = min(barWidth, done*barWidth/total)
	}
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// oneLine removes line breaks and terminal control characters. The texts come from agents and from users who can write the spec.
func oneLine(text string) string {
	breaks := func(r rune) bool { return r <= ' ' || r >= 0x7f && r < 0xa0 }
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), breaks), " ")
}

// namesShown is the maximum number of cluster names shown for a cause.
const namesShown = 8

func firstOf(names []string) string {
	if len(names) > namesShown {
		return strings.Join(names[:namesShown], " ") + fmt.Sprintf(" and %d more", len(names)-namesShown)
	}
	return strings.Join(names, " ")
}

// in returns the time left until a given time.
func (o *options) in(at time.Time) string { return at.Sub(o.now()).Round(time.Second).String() }
