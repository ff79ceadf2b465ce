package plugin

import (
	"context"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

// stateDeleted is the state of a row whose object is gone.
const stateDeleted = "Deleted"

// followSets follows the selected ManifestWorkReplicaSets, without their templates, until the context ends.
func followSets(ctx context.Context, c *clients, selected metav1.ListOptions) *follower {
	f := &follower{changed: make(chan struct{}, 1)}
	f.add(following(setsIn(c.objects, c.namespace), selected), &unstructured.Unstructured{}, "", withoutTemplate)
	f.run(ctx)
	return f
}

// withoutTemplate decodes an object, and drops the fields that the list does not show.
func withoutTemplate(object any) (any, error) {
	read, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	set := replicaset.Decode(read).ManifestWorkReplicaSet
	set.ManagedFields, set.Spec.ManifestWorkTemplate = nil, workv1.ManifestWorkSpec{}
	return set, nil
}

// rows returns the rows of the ManifestWorkReplicaSets that followSets follows.
func (f *follower) rows() []view.Row {
	f.mu.Lock()
	defer f.mu.Unlock()
	rows := []view.Row{}
	for _, set := range objectsOf[*workv1alpha1.ManifestWorkReplicaSet](f.sources[ofSet]) {
		rows = append(rows, view.RowOf(set))
	}
	return rows
}

// watchList prints a row of the list again when it changes, until the context ends. A change to an age does not count.
func (o *options) watchList(ctx context.Context, c *clients, t *table, listed []view.Row, flags *listOptions) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f := followSets(ctx, c, metav1.ListOptions{LabelSelector: flags.selector})
	out := newPrinter(o.Out, screenOf(o.Out))
	printed := keyed(listed)
	for out.err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-f.changed:
		}
		if ready, err := f.ready(); err != nil {
			return err
		} else if !ready {
			continue
		}
		now := keyed(f.rows())
		for _, key := range slices.Sorted(maps.Keys(now)) {
			if row, was := now[key], printed[key]; ageless(&row) != ageless(&was) {
				t.append(out, o.row(&row))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(printed)) {
			if row := printed[key]; now[key].Name == "" {
				row.State = stateDeleted
				t.append(out, o.row(&row))
			}
		}
		printed = now
	}
	return out.err
}

// keyed maps rows by namespace and name.
func keyed(rows []view.Row) map[string]view.Row {
	found := make(map[string]view.Row, len(rows))
	for i := range rows {
		found[rows[i].Namespace+"/"+rows[i].Name] = rows[i]
	}
	return found
}

// ageless returns a row without the cells that change with the clock.
func ageless(row *view.Row) view.Row {
	shown := *row
	shown.Since, shown.Created, shown.Healthy, shown.Sick = time.Time{}, time.Time{}, 0, 0
	return shown
}
