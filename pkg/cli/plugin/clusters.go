package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// clustersOptions holds the flags of the clusters command.
type clustersOptions struct {
	states []string
	output output
}

func newClusters(o *options) *cobra.Command {
	flags := &clustersOptions{}
	cmd := o.named(&cobra.Command{
		Use: "clusters NAME", GroupID: groupSee,
		Short: "Show the clusters: the revision written by the hub, the agent's confirmation, the state and the agent's message",
		Example: `  # Show all clusters; those that need attention come first
  kubectl mwrs clusters web

  # Print the names of the failed clusters
  kubectl mwrs clusters web --state failed -o name`,
	}, func(ctx context.Context, c *clients, name string) error { return o.clusters(ctx, c, name, flags) })
	cmd.Flags().StringSliceVar(&flags.states, "state", nil, "Show only the clusters in these states, such as failed,inflight")
	completes(cmd, "state", completeStates)
	flags.output.addFlag(cmd, "wide", "name")
	return cmd
}

func (o *options) clusters(ctx context.Context, c *clients, name string, flags *clustersOptions) error {
	for i, state := range flags.states {
		if flags.states[i] = strings.ToLower(state); !slices.Contains(stateNames(), flags.states[i]) {
			return fmt.Errorf("--state: %q is not a state: use %s", state, either(stateNames()))
		}
	}
	objects, err := o.read(ctx, c, name)
	if err != nil {
		return err
	}
	for _, note := range view.FleetOf(objects).Notes {
		o.notef("note: %s\n", note)
	}
	clusters := slices.DeleteFunc(view.Clusters(objects), func(c view.Cluster) bool {
		return len(flags.states) > 0 && !slices.Contains(flags.states, strings.ToLower(string(c.State)))
	})
	if flags.output.isSet() {
		names := make([]string, len(clusters))
		for i := range clusters {
			names[i] = clusters[i].Name
		}
		return flags.output.print(o, append([]view.Cluster{}, clusters...), names...)
	}
	if len(clusters) == 0 {
		o.notef("No clusters found.\n")
		return nil
	}
	return o.printTable(o.clusterTable(clusters, flags.output.format == "wide"))
}

func (o *options) clusterTable(clusters []view.Cluster, wide bool) *table {
	return tableOf([]column{
		{name: "CLUSTER"}, {name: "PLACEMENT", drop: 7, off: !wide}, {name: "STATE", state: true}, {name: "SINCE", drop: 2},
		{name: "THEN", drop: 6, off: !wide}, {name: "WROTE", drop: 3}, {name: "CONFIRMED", drop: 4}, {name: "WAITS-FOR", drop: 5},
		{name: "MESSAGE", drop: 1, wants: 48, tail: true},
	}, clusters, o.clusterRow)
}

func (o *options) clusterRow(c *view.Cluster) []string {
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
	message := c.Message
	if c.Reason != "" {
		message = string(c.Reason) + ": " + message
	}
	return []string{
		c.Name, orDash(c.Placement), string(c.State), o.ago(c.Since), then, orDash(c.Wrote), confirmed, orDash(string(c.WaitsFor)),
		orDash(message),
	}
}
