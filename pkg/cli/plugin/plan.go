package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

func newPlan(o *options) *cobra.Command {
	file, to := "", &output{}
	cmd := &cobra.Command{
		Use: "plan (NAME | -f FILE)", GroupID: groupAhead, Args: cobra.MaximumNArgs(1), ValidArgsFunction: o.completing(findNames),
		Short: "Show which clusters are next and in which waves, what would abort the rollout, and why clusters wait",
		Long: "Show which clusters are next and in which waves, what would abort the rollout, and why clusters wait.\n" +
			"The waves are computed by the hub's own decision code, assuming that every cluster succeeds at once. With -f, the file is\n" +
			"compared with the object on the hub, and the plan describes the rollout that the file would start. Nothing is changed.",
		Example: `  # Show how the rollout of web continues
  kubectl mwrs plan web

  # Show what applying a file would do
  kubectl mwrs plan -f web.yaml`,
		RunE: o.connected(func(ctx context.Context, c *clients, args []string) error {
			return o.plan(ctx, c, strings.Join(args, ""), file, to)
		}),
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "File with the ManifestWorkReplicaSet; - reads from standard input")
	to.addFlag(cmd)
	return cmd
}

func (o *options) plan(ctx context.Context, c *clients, name, file string, to *output) error {
	if (name == "") == (file == "") {
		return errors.New("name a ManifestWorkReplicaSet, or a file with -f, but not both")
	}
	objects, set, err := o.planned(ctx, c, name, file)
	if err != nil {
		return err
	}
	next, change, err := view.With(objects, set)
	if err != nil {
		return err
	}
	ahead, err := view.AheadOf(next)
	if err != nil {
		return err
	}
	if to.isSet() {
		return to.print(o, struct {
			*view.Ahead
			*view.Change
		}{ahead, change})
	}
	if err := o.printAhead(ahead, change, screenOf(o.Out)); err != nil || file == "" || change.Same {
		return err
	}
	return o.planDiff(objects, set)
}

// planned returns the objects on the hub, and the object whose spec is planned.
func (o *options) planned(
	ctx context.Context, c *clients, name, file string,
) (*view.Objects, *workv1alpha1.ManifestWorkReplicaSet, error) {
	if file == "" {
		objects, err := o.read(ctx, c, name)
		if err != nil {
			return nil, nil, err
		}
		return objects, objects.ReplicaSet, o.readManagedClusters(ctx, c, objects)
	}
	set, err := o.manifest(file)
	if err != nil {
		return nil, nil, err
	}
	if err := valid(set); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	switch {
	case set.Namespace == "":
		set.Namespace = c.namespace
	case *o.flags.Namespace != "" && set.Namespace != *o.flags.Namespace:
		return nil, nil, fmt.Errorf("the namespace of the file, %q, is not that of --namespace, %q: use one of them", set.Namespace, c.namespace)
	}
	c.namespace = set.Namespace
	objects, err := o.read(ctx, c, set.Name)
	if apierrors.IsNotFound(err) {
		objects, err = o.unborn(ctx, c, set)
	}
	if err == nil {
		err = o.readManagedClusters(ctx, c, objects)
	}
	return objects, set, err
}

// valid returns an error for a manifest whose rollout cannot be planned.
func valid(set *workv1alpha1.ManifestWorkReplicaSet) error {
	if set.Name == "" {
		return errors.New("metadata.name is empty: name the ManifestWorkReplicaSet")
	}
	for i := range set.Spec.PlacementRefs {
		path := field.NewPath("spec", "placementRefs").Index(i).Child("rolloutStrategy")
		if errs := placement.ValidateStrategy(path, &set.Spec.PlacementRefs[i].RolloutStrategy); len(errs) > 0 {
			return errs.ToAggregate()
		}
	}
	return nil
}

// unborn returns the objects of a ManifestWorkReplicaSet that is not on the hub yet.
func (o *options) unborn(ctx context.Context, c *clients, set *workv1alpha1.ManifestWorkReplicaSet) (*view.Objects, error) {
	fresh := set.DeepCopy()
	fresh.Status = workv1alpha1.ManifestWorkReplicaSetStatus{}
	fresh.UID, fresh.ResourceVersion = "", ""
	objects := &view.Objects{ReplicaSet: fresh, Now: o.now()}
	if err := readPlacements(ctx, c, objects); err != nil {
		return nil, err
	}
	return objects, readDecisions(ctx, c, objects)
}

// planDiff prints the difference between the template that the clusters run and the template of the file. The clusters run the template of
// the newest rollout or, after an abort, of the revision to which they returned.
func (o *options) planDiff(objects *view.Objects, set *workv1alpha1.ManifestWorkReplicaSet) error {
	revisions, aborted := view.Revisions(objects), objects.ReplicaSet.Status.AbortedTime != nil
	at := slices.IndexFunc(revisions, func(r view.Revision) bool { return r.Stored && (aborted && r.Current || !aborted && r.Update) })
	if at < 0 {
		return nil
	}
	before, _, err := templateOf(objects, revisions[at].Number)
	if err != nil {
		return err
	}
	after, err := json.Marshal(revision.WithDefaults(&set.Spec.ManifestWorkTemplate)) // The stored template has them.
	if err != nil {
		return err
	}
	text, err := plainDiff(before, after)
	if err != nil {
		return err
	}
	out := newPrinter(o.Out, screen{})
	out.printf("\nchanges to the template of revision %d:\n", revisions[at].Number)
	out.text(cmp.Or(text, "none\n"))
	return out.err
}

// wavesShown is the number of waves that are printed. The last wave is always printed.
const wavesShown = 12

func (o *options) printAhead(a *view.Ahead, change *view.Change, s screen) error {
	out := newPrinter(o.Out, s)
	out.alarms(a.Alarms)
	out.printf("%s/%s   %s\n", a.Namespace, a.Name, changeText(a, change))
	for _, note := range a.Notes {
		out.prose("note     ", note)
	}
	o.printThen(out, a.Then)
	out.prose("waves    ", a.Text)
	out.table(waveTable(a.Waves))
	for i := range a.Limits {
		out.prose("limits   ", "placement "+a.Limits[i].Placement+": "+a.Limits[i].Text)
	}
	out.table(waitingTable(a.Waiting))
	return out.err
}

func changeText(a *view.Ahead, change *view.Change) string {
	switch {
	case change.Same:
		return fmt.Sprintf("%s: revision %s", a.State, a.Revision)
	case change.Returns > 0:
		return fmt.Sprintf("would return to the template of revision %d, as revision %d", change.Returns, change.Number)
	}
	return fmt.Sprintf("would roll out a new revision %d", change.Number)
}

func waveTable(waves []forecast.Wave) *table {
	var rows [][]string
	for i := range waves {
		switch {
		case i == wavesShown-1 && i < len(waves)-1:
			rows = append(rows, []string{"…", "", "", "", ""})
		case i < wavesShown || i == len(waves)-1:
			for _, part := range waves[i].Parts {
				rows = append(rows, []string{strconv.Itoa(i + 1), strconv.Itoa(len(part.Clusters)), part.Placement, orDash(part.Group),
					view.FirstOf(part.Clusters, namesShown, " ")})
			}
		}
	}
	columns := []column{{name: "WAVE"}, {name: "CLUSTERS"}, {name: "PLACEMENT"}, {name: "GROUP"}, {name: "NAMES", drop: 1}}
	return tableOf(columns, rows, asIs)
}

func waitingTable(waiting []view.Waiting) *table {
	columns := []column{{name: "STATE", state: true}, {name: "WAITS-FOR"}, {name: "CLUSTERS"}, {name: "NAMES", drop: 1}}
	return tableOf(columns, waiting, func(w *view.Waiting) []string {
		return []string{string(w.State), string(w.For), strconv.Itoa(len(w.Clusters)), view.FirstOf(w.Clusters, namesShown, " ")}
	})
}
