package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// listOptions holds the flags of a list.
type listOptions struct {
	all, watch, noHeaders bool
	selector, sortBy      string
}

func (f *listOptions) addFlags(cmd *cobra.Command, watch string) {
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "List the ManifestWorkReplicaSets in all namespaces")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, watch)
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "List only objects with these labels, such as app=web,tier!=test")
	cmd.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Print no header")
	cmd.Flags().StringVar(&f.sortBy, "sort-by", "", "Sort by the field of a JSONPath expression, such as .metadata.creationTimestamp")
}

// ofLists returns an error if a flag of a list is set.
func (f *listOptions) ofLists() error {
	if f.all || f.noHeaders || f.selector != "" || f.sortBy != "" {
		return errors.New("--all-namespaces, --selector, --no-headers and --sort-by are for a list: omit the name")
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

  # List those with a label by their states
  kubectl mwrs list -l app=web --sort-by .status.state`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.list(cmd.Context(), flags) },
	}
	flags.addFlags(cmd, "After the list, print the rows that change")
	return cmd
}

func (o *options) list(ctx context.Context, flags *listOptions) error {
	order, err := newSortOrder(flags.sortBy)
	if err != nil {
		return err
	}
	c, err := o.connect()
	if err != nil {
		return err
	}
	if flags.all {
		c.namespace = metav1.NamespaceAll
	}
	var sets, doubtful []*workv1alpha1.ManifestWorkReplicaSet
	selected := metav1.ListOptions{LabelSelector: flags.selector}
	err = eachSet(ctx, c.allSets(), selected, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		row := listed(set)
		sets = append(sets, row)
		order.note(row, set)
		if !view.ActsOn(set, o.now()) || view.RefusalOf(set) != "" {
			doubtful = append(doubtful, set)
		}
	})
	if err != nil {
		return err
	}
	newPrinter(o.ErrOut, screenOf(o.ErrOut)).alarms(view.AlarmsOf(doubtful, c.lease(ctx), o.now()))
	if len(sets) == 0 {
		where := "in namespace " + c.namespace
		if flags.all {
			where = "on this hub"
		}
		o.notef("No ManifestWorkReplicaSets found %s.\n", where)
		if !flags.watch {
			return nil
		}
	}
	if err := order.sort(sets); err != nil {
		return err
	}
	t := o.listTable(sets, flags)
	if err := o.printTable(t); err != nil || !flags.watch {
		return err
	}
	return o.watchList(ctx, c, t, sets, flags)
}

// pageOfSets is the page size for reading ManifestWorkReplicaSets. A template can be hundreds of kilobytes.
const pageOfSets = 100

// eachSet reads ManifestWorkReplicaSets page by page.
func eachSet(
	ctx context.Context, client decodedSets, selected metav1.ListOptions, visit func(*workv1alpha1.ManifestWorkReplicaSet),
) error {
	pages := pager.New(func(ctx context.Context, list metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, list)
	})
	pages.PageSize = pageOfSets
	return pages.EachListItem(ctx, selected, func(item runtime.Object) error {
		set, ok := item.(*workv1alpha1.ManifestWorkReplicaSet)
		if !ok {
			return fmt.Errorf("the API server returned a %T in a list of ManifestWorkReplicaSets", item)
		}
		visit(set)
		return nil
	})
}

// listed returns what a row of the list shows of an object, so that a long list stays small in memory.
func listed(set *workv1alpha1.ManifestWorkReplicaSet) *workv1alpha1.ManifestWorkReplicaSet {
	row := *set
	row.ManagedFields, row.Annotations = nil, nil
	row.Spec.ManifestWorkTemplate = workv1.ManifestWorkSpec{}
	return &row
}

func (o *options) listTable(sets []*workv1alpha1.ManifestWorkReplicaSet, flags *listOptions) *table {
	t := &table{
		columns: []column{
			{name: "NAME"}, {name: "STATE", state: true}, {name: "SINCE", drop: 1}, {name: "UPDATE", drop: 3}, {name: "CURRENT", drop: 4},
			{name: "UPDATED"}, {name: "FAILED"}, {name: "AGE", drop: 2},
		},
		bare: flags.noHeaders, rows: len(sets), row: func(i int) []string { return o.row(sets[i], flags.all) },
	}
	if flags.all {
		t.columns = slices.Insert(t.columns, 0, column{name: "NAMESPACE"})
	}
	return t
}

// row returns the cells for an object in the list.
func (o *options) row(set *workv1alpha1.ManifestWorkReplicaSet, all bool) []string {
	update, current := "-", "-"
	for _, rev := range view.Revisions(&view.Objects{ReplicaSet: set}) {
		if rev.Update {
			update = strconv.FormatInt(rev.Number, 10)
		}
		if rev.Current {
			current = strconv.FormatInt(rev.Number, 10)
		}
	}
	row := []string{
		set.Name, string(view.StateOf(set)), o.ago(view.SinceOf(set)), update, current,
		fmt.Sprintf("%d/%d", set.Status.Summary.Updated, view.Desired(set)), strconv.Itoa(set.Status.Summary.Failed),
		o.ago(set.CreationTimestamp.Time),
	}
	if all {
		row = slices.Insert(row, 0, set.Namespace)
	}
	return row
}

// ago returns the time elapsed since a given time, in kubectl's age format.
func (o *options) ago(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return o.age(max(0, o.now().Sub(at)))
}
