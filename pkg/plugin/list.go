package plugin

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/view"
)

func newList(o *options) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, GroupID: groupSee, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Short: "List the ManifestWorkReplicaSets with their states",
		Example: `  # List the ManifestWorkReplicaSets in the namespace
  kubectl mwrs list

  # List the ManifestWorkReplicaSets in all namespaces
  kubectl mwrs list -A`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.list(cmd.Context(), all) },
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "List the ManifestWorkReplicaSets in all namespaces")
	return cmd
}

func (o *options) list(ctx context.Context, all bool) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	if all {
		c.namespace = metav1.NamespaceAll
	}
	list, err := c.replicaSets().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		where := "in namespace " + c.namespace
		if all {
			where = "on this hub"
		}
		_, err := fmt.Fprintf(o.ErrOut, "No ManifestWorkReplicaSets found %s.\n", where)
		return err
	}
	out := printers.GetNewTabWriter(o.Out)
	header := "NAME\tSTATE\tSINCE\tUPDATE\tCURRENT\tUPDATED\tFAILED\tAGE\n"
	if all {
		header = "NAMESPACE\t" + header
	}
	_, _ = fmt.Fprint(out, header)
	for i := range list.Items {
		if all {
			_, _ = fmt.Fprintf(out, "%s\t", list.Items[i].Namespace)
		}
		_, _ = fmt.Fprintln(out, o.row(&list.Items[i]))
	}
	return out.Flush()
}

// row returns the line for an object in the list.
func (o *options) row(set *workv1alpha1.ManifestWorkReplicaSet) string {
	update, current, updated := "-", "-", int32(0)
	for _, rev := range view.Revisions(&view.Objects{ReplicaSet: set}) {
		if rev.Update {
			update, updated = strconv.FormatInt(rev.Number, 10), rev.Now
		}
		if rev.Current {
			current = strconv.FormatInt(rev.Number, 10)
		}
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%d/%d\t%d\t%s", set.Name, view.StateOf(set), o.ago(view.SinceOf(set)), update, current,
		updated, set.Status.Summary.Total, set.Status.Summary.Failed, o.ago(set.CreationTimestamp.Time))
}

// ago returns the time elapsed since a given time, in kubectl's age format.
func (o *options) ago(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(0, o.now().Sub(at)))
}
