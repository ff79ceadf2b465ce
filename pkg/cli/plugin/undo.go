package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// undoOptions holds the flags of the undo command.
type undoOptions struct {
	actOptions
	waits
	number int64
	view.Allowed
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

  # Restore the template of revision 6 without a question, and wait until the rollout ends
  kubectl mwrs undo web --to-revision 6 --yes --wait`,
		RunE: o.connected(func(ctx context.Context, c *clients, args []string) error {
			return o.undo(ctx, c, args[0], flags)
		}),
	}
	o.revisionFlag(cmd, &flags.number, "to-revision", "Restore the template of this revision")
	cmd.Flags().BoolVar(&flags.Aborted, "allow-aborted", false, "Restore the revision of --to-revision even if its rollout was aborted")
	cmd.Flags().BoolVar(&flags.Managed, "allow-managed", false, "Overwrite a template that another tool manages and may restore")
	flags.addYes(cmd)
	flags.addDryRun(cmd)
	flags.addFlags(cmd, "Wait until the rollout of the restored revision ends, as the status command does")
	return cmd
}

func (o *options) undo(ctx context.Context, c *clients, name string, flags *undoOptions) error {
	if err := o.undoAt(ctx, c, name, flags); err != nil || !flags.wait || flags.dryRun != dryRunNone {
		return err
	}
	flags.status.timeout = flags.timeout
	return o.status(ctx, c, name, &flags.status)
}

func (o *options) undoAt(ctx context.Context, c *clients, name string, flags *undoOptions) error {
	var before *workv1alpha1.ManifestWorkReplicaSet
	undone, err := o.act(ctx, c, &flags.actOptions, func() (*action, error) {
		planned, err := o.plannedUndo(ctx, c, name, flags)
		if err == nil {
			before = planned.set
		}
		return planned, err
	})
	if err != nil || undone == nil {
		return err
	}
	return o.handOver(ctx, c, before, undone)
}

// plannedUndo returns the action of an undo. A wait is for the revision that it restores.
func (o *options) plannedUndo(ctx context.Context, c *clients, name string, flags *undoOptions) (*action, error) {
	objects, target, err := o.undoTarget(ctx, c, name, flags)
	if err != nil {
		return nil, err
	}
	template, err := templateOf(objects, target.Number)
	if err != nil {
		return nil, err
	}
	var spec workv1.ManifestWorkSpec
	if err := json.Unmarshal(template, &spec); err != nil {
		return nil, fmt.Errorf("the template of revision %d: %w", target.Number, err)
	}
	flags.status.hash = target.Hash
	if flags.status.digest, err = revision.DigestOf(&spec); err != nil {
		return nil, fmt.Errorf("the template of revision %d: %w", target.Number, err)
	}
	patch, err := undoPatch(objects.ReplicaSet, template, target.ChangeCause)
	return &action{
		Effect: view.EffectOf(objects, view.VerbUndo, target, nil), set: objects.ReplicaSet, kind: types.JSONPatchType, patch: patch,
		manager: undoManager, done: fmt.Sprintf("The spec has the template of revision %d again. ", target.Number),
	}, err
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
	target, err := view.UndoTarget(objects, flags.number, flags.Allowed)
	if err != nil {
		return nil, nil, err
	}
	if owner := view.ManagerOf(objects.ReplicaSet); owner != "" && !flags.Managed {
		return nil, nil, fmt.Errorf("%s manages the template of %q and would overwrite the undo; change the template in that tool "+
			"(`%s` prints the manifest), or add --allow-managed", owner, name,
			plain.Command("kubectl", "mwrs", "export", name, "--to-revision", strconv.FormatInt(target.Number, 10)))
	}
	return objects, &target, nil
}

// printChange prints what an undo would change.
func (o *options) printChange(set, undone *workv1alpha1.ManifestWorkReplicaSet) error {
	before, err := specTemplate(set)
	if err != nil {
		return err
	}
	after, err := specTemplate(undone)
	if err != nil {
		return err
	}
	text, err := plainDiff(before, after)
	if err != nil {
		return err
	}
	out := newPrinter(o.Out, screen{})
	const cause = workv1alpha1.AnnotationChangeCause
	if was, is := set.Annotations[cause], undone.Annotations[cause]; was != is {
		out.printf("change cause: %s, now %s\n", orDash(is), orDash(was))
	}
	out.printf("changes to the template in the spec:\n")
	out.text(cmp.Or(text, "none\n"))
	return out.err
}

// undoPatch returns the patch that restores a template and the change cause of its revision. The patch applies only to the version of
// the object that was read.
func undoPatch(set *workv1alpha1.ManifestWorkReplicaSet, template json.RawMessage, cause string) ([]operation, error) {
	patch := []operation{
		{Op: "test", Path: "/metadata/resourceVersion", Value: set.ResourceVersion},
		{Op: "replace", Path: "/spec/manifestWorkTemplate", Value: template},
	}
	const key, path = workv1alpha1.AnnotationChangeCause, "/metadata/annotations"
	switch {
	case set.Annotations[key] == cause:
	case cause == "":
		patch = append(patch, operation{Op: "remove", Path: path + "/" + escaped(key)})
	case set.Annotations == nil:
		patch = append(patch, operation{Op: "add", Path: path, Value: map[string]string{key: cause}})
	default:
		patch = append(patch, operation{Op: "add", Path: path + "/" + escaped(key), Value: cause})
	}
	applied, err := appliedOperation(set, template, cause)
	if applied != nil {
		patch = append(patch, *applied)
	}
	return patch, err
}

// escaped escapes a key for use in a JSON pointer.
func escaped(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
