package plugin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

// listOptions holds the flags of a list.
type listOptions struct {
	all, watch, noHeaders bool
	selector              string
	output                output
}

func (f *listOptions) addFlags(cmd *cobra.Command, watch string) {
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "List the ManifestWorkReplicaSets in all namespaces")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, watch)
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "List only objects with these labels, such as app=web,tier!=test")
	cmd.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Don't print the header")
	f.output.addFlag(cmd, "name")
	cmd.PreRunE = func(_ *cobra.Command, args []string) error { return f.check(args) }
}

// check returns an error for flags that exclude each other, or that exclude the name of an object.
func (f *listOptions) check(name []string) error {
	switch {
	case f.watch && f.output.isSet():
		return errors.New("--watch shows a screen: omit --output or --watch")
	case len(name) > 0 && (f.all || f.noHeaders || f.selector != ""):
		return errors.New("--all-namespaces, --selector and --no-headers are for a list: omit the name")
	}
	return nil
}

func newList(o *options) *cobra.Command {
	flags := &listOptions{}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, GroupID: groupSee, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Short: "List the ManifestWorkReplicaSets with their states",
		Example: `  # List the ManifestWorkReplicaSets in the namespace
  kubectl mwrs list

  # List the ManifestWorkReplicaSets in all namespaces, and print a row again whenever it changes
  kubectl mwrs list -A -w

  # Print the names of the ManifestWorkReplicaSets with a label
  kubectl mwrs list -l app=web -o name`,
		RunE: o.connected(func(ctx context.Context, c *clients, _ []string) error { return o.list(ctx, c, flags) }),
	}
	flags.addFlags(cmd, "After the list, print the rows that change")
	return cmd
}

func (o *options) list(ctx context.Context, c *clients, flags *listOptions) error {
	if flags.all {
		c.namespace = metav1.NamespaceAll
	}
	rows, names := []view.Row{}, []string{}
	var doubtful []*workv1alpha1.ManifestWorkReplicaSet
	selected := metav1.ListOptions{LabelSelector: flags.selector}
	err := eachSet(ctx, c.objects, c.namespace, selected, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		rows, names = append(rows, view.RowOf(set)), append(names, resourceOf(set.Name))
		if !view.ActsOn(set, o.now()) || view.RefusalOf(set) != "" {
			doubtful = append(doubtful, set)
		}
	})
	if err != nil {
		return err
	}
	newPrinter(o.ErrOut, screenOf(o.ErrOut)).alarms(view.AlarmsOf(doubtful, c.lease(ctx), o.now()))
	if flags.output.isSet() {
		return flags.output.print(o, rows, names...)
	}
	if len(rows) == 0 {
		where := "in namespace " + c.namespace
		if flags.all {
			where = "on this hub"
		}
		o.notef("No ManifestWorkReplicaSets found %s.\n", where)
		if !flags.watch {
			return nil
		}
	}
	t := o.listTable(rows, flags)
	if err := o.printTable(t); err != nil || !flags.watch {
		return err
	}
	return o.watchList(ctx, c, t, rows, flags)
}

// setsIn returns a dynamic client for the ManifestWorkReplicaSets in a namespace. With a typed client, a field that can't be decoded would
// make the whole list fail, and an abort of its object impossible.
func setsIn(objects dynamic.Interface, namespace string) dynamic.ResourceInterface {
	return objects.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(namespace)
}

// eachSet reads ManifestWorkReplicaSets page by page, and visits each of them. Fields that can't be decoded are empty.
func eachSet(
	ctx context.Context, objects dynamic.Interface, namespace string, selected metav1.ListOptions,
	visit func(*workv1alpha1.ManifestWorkReplicaSet),
) error {
	return replicaset.Each(ctx, selected, func(page metav1.ListOptions) (runtime.Object, error) {
		return setsIn(objects, namespace).List(ctx, page)
	}, func(item *unstructured.Unstructured) error {
		visit(replicaset.Decode(item).ManifestWorkReplicaSet)
		return nil
	})
}

func (o *options) listTable(rows []view.Row, flags *listOptions) *table {
	t := tableOf([]column{
		{name: "NAMESPACE", off: !flags.all}, {name: "NAME"}, {name: "STATE", state: true}, {name: "SINCE", drop: 1}, {name: "UPDATE", drop: 4},
		{name: "CURRENT", drop: 5}, {name: "UPDATED"}, {name: "FAILED"}, {name: "DEGRADED", drop: 3}, {name: "AGE", drop: 2},
	}, rows, o.row)
	t.bare = flags.noHeaders
	return t
}

// row returns the cells of an object in the list.
func (o *options) row(r *view.Row) []string {
	number := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return strconv.FormatInt(n, 10)
	}
	return []string{
		r.Namespace, r.Name, string(r.State), o.ago(r.Since), number(r.Update), number(r.Current), fmt.Sprintf("%d/%d", r.Updated, r.Selected),
		strconv.Itoa(r.Failed), strconv.Itoa(r.Degraded), o.ago(r.Created),
	}
}

// ago returns the time elapsed since a given time, in kubectl's age format.
func (o *options) ago(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return o.age(max(0, o.now().Sub(at)))
}
