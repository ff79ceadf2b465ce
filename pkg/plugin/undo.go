package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/view"
)

// undoOptions holds the flags of the undo command.
type undoOptions struct {
	number int64
	force  bool
	dryRun string
	wait   bool
	status statusOptions
}

func newUndo(o *options) *cobra.Command {
	flags := &undoOptions{}
	cmd := &cobra.Command{
		Use: "undo NAME", GroupID: groupAct, Args: cobra.ExactArgs(1), ValidArgsFunction: o.completeName,
		Short: "Restore the template of an earlier revision",
		Long: "Restore the template of an earlier revision.\n" +
			"If the rollout is in progress or aborted, or the hub has not started the template in the spec, that is the current\n" +
			"revision. If the rollout is complete, that is the newest earlier revision that reached every cluster.\n" +
			"A return to the current revision, or to one within\n" +
			"spec.rollbackWindow, reaches every cluster at once. Other revisions are rolled out with the rollout strategy.",
		Example: `  # Restore the previous template
  kubectl mwrs undo web

  # Restore the template of revision 6, and wait until the rollout ends
  kubectl mwrs undo web --to-revision 6 --wait`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.undo(cmd.Context(), args[0], flags) },
	}
	cmd.Flags().Int64Var(&flags.number, "to-revision", 0, "Restore the template of this revision")
	cmd.Flags().BoolVar(&flags.force, "force", false, "Restore an aborted revision, or overwrite a template that another tool manages")
	cmd.Flags().StringVar(&flags.dryRun, "dry-run", "none", "none, client (print the patch) or server (validate without a change)")
	cmd.Flags().BoolVar(&flags.wait, "wait", false, "Wait until the rollout of the restored revision ends, as the status command does")
	cmd.Flags().DurationVar(&flags.status.timeout, "timeout", 0, "With --wait: maximum time to wait, such as 30m; 0 waits forever")
	return cmd
}

func (o *options) undo(ctx context.Context, name string, flags *undoOptions) error {
	if !slices.Contains([]string{"none", "client", "server"}, flags.dryRun) {
		return fmt.Errorf("--dry-run %q is unknown; use none, client or server", flags.dryRun)
	}
	c, err := o.connect()
	if err != nil {
		return err
	}
	if err := o.undoAt(ctx, c, name, flags); err != nil {
		return err
	}
	if flags.wait && flags.dryRun == "none" {
		return o.status(ctx, name, &flags.status)
	}
	return nil
}

func (o *options) undoAt(ctx context.Context, c *clients, name string, flags *undoOptions) error {
	return repeated(func() error {
		objects, patch, effect, err := o.plannedUndo(ctx, c, name, flags)
		if err != nil {
			return err
		}
		if flags.dryRun == "client" {
			return o.printYAML(patch)
		}
		return o.putBack(ctx, c, objects.ReplicaSet, patch, effect, flags.dryRun == "server")
	})
}

// plannedUndo returns the objects that were read, the patch of an undo and its effect. A wait is for the revision that it restores.
func (o *options) plannedUndo(
	ctx context.Context, c *clients, name string, flags *undoOptions,
) (*view.Objects, []operation, *view.Effect, error) {
	objects, target, err := o.undoTarget(ctx, c, name, flags)
	if err == nil {
		err = o.check(objects.ReplicaSet)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	template, err := templateOf(objects, target.Number)
	if err != nil {
		return nil, nil, nil, err
	}
	var spec workv1.ManifestWorkSpec
	if err := json.Unmarshal(template, &spec); err != nil {
		return nil, nil, nil, fmt.Errorf("the template of revision %d: %w", target.Number, err)
	}
	flags.status.hash = target.Hash
	if flags.status.digest, err = revision.DigestOf(&spec); err != nil {
		return nil, nil, nil, fmt.Errorf("the template of revision %d: %w", target.Number, err)
	}
	patch, err := undoPatch(objects, target)
	effect := view.EffectOf(objects, view.VerbUndo, target, nil)
	return objects, patch, &effect, err
}

// undoTarget returns the revision that an undo restores, and the objects that were read.
func (o *options) undoTarget(ctx context.Context, c *clients, name string, flags *undoOptions) (*view.Objects, *view.Revision, error) {
	objects, err := o.readSet(ctx, c, name, historyStep(c))
	if err != nil {
		return nil, nil, err
	}
	if len(objects.Missing) > 0 {
		return nil, nil, fmt.Errorf("no permission to %s, which undo requires", objects.Missing[0])
	}
	target, err := view.UndoTarget(objects, flags.number, flags.force)
	if err != nil {
		return nil, nil, err
	}
	if owner := view.ManagerOf(objects.ReplicaSet); owner != "" && !flags.force {
		return nil, nil, fmt.Errorf("%s manages the template of %q and would overwrite the undo; change the template in that tool "+
			"(`%s` prints the manifest), or add --force", owner, name,
			plain.Command("kubectl", "mwrs", "export", name, "--to-revision", strconv.FormatInt(target.Number, 10)))
	}
	return objects, &target, nil
}

// putBack sends the patch of an undo to the API server.
func (o *options) putBack(
	ctx context.Context, c *clients, set *workv1alpha1.ManifestWorkReplicaSet, patch []operation, effect *view.Effect, dryRun bool,
) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: undoManager}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	undone, err := c.replicaSets().Patch(ctx, set.Name, types.JSONPatchType, data, options)
	if err != nil {
		return err
	}
	if dryRun {
		return o.did(set.Name, fmt.Sprintf("undo to the template of revision %d is valid (server dry run)", effect.Revision))
	}
	err = o.requested(ctx, c, view.VerbUndo, set.Name,
		fmt.Sprintf("The spec has the template of revision %d again. %s", effect.Revision, effect.Then))
	if err != nil {
		return err
	}
	return o.handOver(ctx, c, set, undone)
}

// undoPatch returns the patch that restores a template and the change cause of its revision. The patch applies only to the version of
// the object that was read.
func undoPatch(objects *view.Objects, target *view.Revision) ([]operation, error) {
	template, err := templateOf(objects, target.Number)
	if err != nil {
		return nil, err
	}
	patch := []operation{
		{Op: "test", Path: "/metadata/resourceVersion", Value: objects.ReplicaSet.ResourceVersion},
		{Op: "replace", Path: "/spec/manifestWorkTemplate", Value: template},
	}
	annotations := objects.ReplicaSet.Annotations
	before, had := annotations[workv1alpha1.AnnotationChangeCause]
	switch {
	case before == target.ChangeCause:
	case target.ChangeCause == "" && had:
		patch = append(patch, operation{Op: "remove", Path: "/metadata/annotations/" + escaped(workv1alpha1.AnnotationChangeCause)})
	case annotations == nil:
		patch = append(patch, operation{Op: "add", Path: "/metadata/annotations",
			Value: map[string]string{workv1alpha1.AnnotationChangeCause: target.ChangeCause}})
	default:
		patch = append(patch, operation{Op: "add", Path: "/metadata/annotations/" + escaped(workv1alpha1.AnnotationChangeCause),
			Value: target.ChangeCause})
	}
	applied, err := appliedOperation(objects.ReplicaSet, template, target.ChangeCause)
	if applied != nil {
		patch = append(patch, *applied)
	}
	return patch, err
}

// escaped escapes a key for use in a JSON pointer.
func escaped(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
