package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// stateDeleted is the state of a row whose object is gone.
const stateDeleted = "Deleted"

// listRows prints a row for each change, as `kubectl get -w` does.
type listRows struct {
	o     *options
	table *table
	all   bool
	// printed holds the cells of the rows that were printed last, without the ages, by namespace and name.
	printed map[string][]string
	err     chan error
}

// watchList prints the rows of a printed list again whenever they change, until the context ends.
func (o *options) watchList(
	ctx context.Context, c *clients, t *table, listed []view.Row, flags *listOptions,
) error {
	rows := &listRows{o: o, table: t, all: flags.all, printed: map[string][]string{}, err: make(chan error, 1)}
	for i := range listed {
		rows.printed[listed[i].Namespace+"/"+listed[i].Name] = unaged(t, t.row(i))
	}
	selected := metav1.ListOptions{LabelSelector: flags.selector}
	informer := cache.NewSharedInformer(following(c.allSets(), selected), &workv1alpha1.ManifestWorkReplicaSet{}, 0)
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) {
			rows.fail(err)
		}
	})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { rows.print(object, false) }, UpdateFunc: func(_, object any) { rows.print(object, false) },
		DeleteFunc: func(object any) { rows.print(object, true) },
	})
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go informer.RunWithContext(watching)
	select {
	case <-ctx.Done():
		return nil
	case err := <-rows.err:
		return err
	}
}

// print prints the row of an object if it changed, apart from the ages. Only the informer calls it, one event after the other.
func (r *listRows) print(object any, deleted bool) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	set, ok := object.(*workv1alpha1.ManifestWorkReplicaSet)
	if !ok {
		r.fail(errors.New("the API server returned an object that is not a ManifestWorkReplicaSet: " + fmt.Sprintf("%T", object)))
		return
	}
	shown := view.RowOf(set)
	row, key := r.o.row(&shown, r.all), set.Namespace+"/"+set.Name
	if deleted {
		row[r.table.index("STATE")] = stateDeleted
	}
	if bare := unaged(r.table, row); !slices.Equal(r.printed[key], bare) {
		r.printed[key] = bare
		out := newPrinter(r.o.Out, screenOf(r.o.Out))
		if r.table.append(out, row); out.err != nil {
			r.fail(out.err)
		}
	}
	if deleted {
		delete(r.printed, key)
	}
}

func (r *listRows) fail(err error) {
	select {
	case r.err <- err:
	default: // The first error counts.
	}
}

// unaged returns a row without the cells that change with the clock.
func unaged(t *table, row []string) []string {
	row = slices.Clone(row)
	row[t.index("SINCE")], row[t.index("AGE")] = "", ""
	return row
}
