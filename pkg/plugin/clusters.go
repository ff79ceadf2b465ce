package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/open-cluster-management-io/work-rollback/pkg/view"
)

// clustersOptions holds the flags of the clusters command.
type clustersOptions struct {
	states []string
	output string
}

func newClusters(o *options) *cobra.Command {
	flags := &clustersOptions{}
	cmd := &cobra.Command{
		Use: "clusters NAME", GroupID: groupSee, Args: cobra.ExactArgs(1), ValidArgsFunction: o.completeName,
		Short: "Show the clusters: the revision written by the hub, the agent's confirmation, the state and the agent's message",
		Example: `  # Show all clusters; those that need attention come first
  kubectl mwrs clusters web

  # Print the names of the failed clusters
  kubectl mwrs clusters web --state failed -o name`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.clusters(cmd.Context(), args[0], flags) },
	}
	cmd.Flags().StringSliceVar(&flags.states, "state", nil, "Show only the clusters in these states, such as failed,inflight")
	cmd.Flags().StringVarP(&flags.output, "output", "o", "", "Output format: wide, name or json")
	return cmd
}

func (o *options) clusters(ctx context.Context, name string, flags *clustersOptions) error {
	if !slices.Contains([]string{"", "wide", "name", "json"}, flags.output) {
		return fmt.Errorf("--output %q is unknown; use wide, name or json", flags.output)
	}
	c, err := o.connect()
	if err != nil {
		return err
	}
	objects, err := o.read(ctx, c, name)
	if err != nil {
		return err
	}
	for _, note := range view.Of(objects).Notes {
		_, _ = fmt.Fprintln(o.ErrOut, "note: "+note)
	}
	clusters := slices.DeleteFunc(view.Clusters(objects), func(c view.Cluster) bool {
		return len(flags.states) > 0 && !slices.ContainsFunc(flags.states, func(state string) bool {
			return strings.EqualFold(state, string(c.State))
		})
	})
	return o.printAs(flags.output, clusters)
}

func (o *options) printAs(format string, clusters []view.Cluster) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(o.Out)
		encoder.SetIndent("", "  ")
		if clusters == nil {
			clusters = []view.Cluster{}
		}
		return encoder.Encode(clusters)
	case "name":
		for i := range clusters {
			if _, err := fmt.Fprintln(o.Out, clusters[i].Name); err != nil {
				return err
			}
		}
		return nil
	}
	if len(clusters) == 0 {
		_, err := fmt.Fprintln(o.ErrOut, "No clusters found.")
		return err
	}
	out := printers.GetNewTabWriter(o.Out)
	o.printClusters(out, clusters, format == "wide")
	return out.Flush()
}

func (o *options) printClusters(w io.Writer, clusters []view.Cluster, wide bool) {
	header := "CLUSTER\tSTATE\tSINCE\tWROTE\tCONFIRMED\tWAITS-FOR\tMESSAGE"
	if wide {
		header = "CLUSTER\tPLACEMENT\tSTATE\tSINCE\tTHEN\tWROTE\tCONFIRMED\tWAITS-FOR\tMESSAGE"
	}
	_, _ = fmt.Fprintln(w, header)
	for i := range clusters {
		c := &clusters[i]
		confirmed, then := "no", "-"
		if c.Confirmed {
			confirmed = "yes"
		}
		if c.Wrote == "" {
			confirmed = "-"
		}
		if c.Then != "" {
			then = fmt.Sprintf("%s in %s", c.Then, o.in(c.ChangesAt))
		}
		message := oneLine(c.Message)
		if c.Reason != "" {
			message = string(c.Reason) + ": " + message
		}
		if wide {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Name, c.Placement, c.State, o.ago(c.Since), then, orDash(c.Wrote),
				confirmed, orDash(string(c.WaitsFor)), orDash(message))
			continue
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Name, c.State, o.ago(c.Since), orDash(c.Wrote), confirmed,
			orDash(string(c.WaitsFor)), orDash(message))
	}
}
