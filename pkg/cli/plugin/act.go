package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// The values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// actOptions holds the flags of a command that acts. The arguments complete the action.
type actOptions struct {
	dashboard.Action
	dryRun string
	// asks is true for an action that the user must confirm, unless yes is true.
	asks, yes bool
	wait      bool
	timeout   time.Duration
	// unchanged returns an error if an action differs from the confirmed action. The function is nil if the user confirms in the terminal.
	unchanged func(*action) error
}

func newUndo(o *options) *cobra.Command {
	flags := &actOptions{}
	cmd := o.acting(view.VerbUndo, flags, &cobra.Command{
		Short: "Restore the template of an earlier revision",
		Long: "Restore the template of an earlier revision.\n" +
			"If the rollout is in progress or aborted, or the hub has not started the template in the spec, undo restores the\n" +
			"current revision. If the rollout is complete, undo restores the newest earlier revision that reached every cluster.\n" +
			"The current revision, or one within spec.rollbackWindow, reaches every cluster at once. Other revisions are rolled\n" +
			"out with the rollout strategy.",
		Example: `  # Restore the previous template
  kubectl mwrs undo web

  # Restore the template of revision 6 without a question, and wait until the rollout ends
  kubectl mwrs undo web --to-revision 6 --yes --wait`,
	})
	o.revisionFlag(cmd, &flags.Revision, "to-revision", "Restore the template of this revision")
	cmd.Flags().BoolVar(&flags.Aborted, "allow-aborted", false, "Restore the revision of --to-revision even if its rollout was aborted")
	cmd.Flags().BoolVar(&flags.Managed, "allow-managed", false, "Overwrite a template that another tool manages and may restore")
	flags.addYes(cmd)
	flags.addWait(cmd, "Wait until the rollout of the restored revision ends, as the status command does")
	return cmd
}

func newAbort(o *options) *cobra.Command {
	flags := &actOptions{}
	cmd := o.acting(view.VerbAbort, flags, &cobra.Command{
		Short: "Abort a rollout: the hub writes the current revision to every cluster at once",
		Long: "Abort a rollout: the hub writes the current revision to every cluster at once, regardless of the rollout strategy.\n" +
			"The spec does not change. The reason and your user name are recorded on the revision.",
		Example: `  kubectl mwrs abort web --reason='v4 leaks memory'`,
	})
	cmd.PreRunE = func(*cobra.Command, []string) error { return validReason(flags.Reason) }
	cmd.Flags().StringVar(&flags.Reason, "reason", "", "The reason for the abort, at most 256 bytes")
	flags.addYes(cmd)
	flags.addWait(cmd, "Wait until every cluster has confirmed the current revision")
	return cmd
}

func newRetry(o *options) *cobra.Command {
	return o.acting(view.VerbRetry, &actOptions{}, &cobra.Command{
		Use: "retry NAME [CLUSTER...]", Args: cobra.MinimumNArgs(1), ValidArgsFunction: o.completing(findRetried),
		Short: "Roll out the aborted revision again, or retry failed clusters",
		Long: "Roll out the aborted revision again, or retry the failed clusters of a rollout.\n" +
			"A retried cluster gets a new deadline. If you name no clusters, all failed clusters are retried.",
		Example: `  # Roll out the aborted revision again
  kubectl mwrs retry web

  # Retry two clusters of a stalled rollout
  kubectl mwrs retry web cluster1 cluster2`,
	})
}

func newPause(o *options) *cobra.Command {
	return o.acting(view.VerbPause, &actOptions{}, &cobra.Command{
		Short: "Pause a rollout: the hub stops writing to clusters", Example: "  kubectl mwrs pause web",
	})
}

func newResume(o *options) *cobra.Command {
	return o.acting(view.VerbResume, &actOptions{}, &cobra.Command{
		Short: "Resume a paused rollout", Example: "  kubectl mwrs resume web",
	})
}

// acting completes a command that acts. The argument is the name of an object, unless the command defines its own arguments.
func (o *options) acting(verb view.Verb, flags *actOptions, cmd *cobra.Command) *cobra.Command {
	flags.Verb, cmd.GroupID = verb, groupAct
	if cmd.Use == "" {
		cmd.Use, cmd.Args, cmd.ValidArgsFunction = string(verb)+" NAME", cobra.ExactArgs(1), o.completing(findNames)
	}
	cmd.RunE = o.connected(func(ctx context.Context, c *clients, args []string) error {
		flags.Name, flags.Clusters = args[0], args[1:]
		return o.run(ctx, c, flags)
	})
	flags.dryRun = dryRunNone
	choiceFlag(cmd, &flags.dryRun, "dry-run", "",
		"Print the patch (client), or let the API server check it without changing anything (server)", dryRunNone, dryRunClient, dryRunServer)
	return cmd
}

// addYes makes a command ask before it acts, and adds the flag --yes.
func (f *actOptions) addYes(cmd *cobra.Command) {
	f.asks = true
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "Do not ask for confirmation")
}

// addWait adds the flags --wait and --timeout.
func (f *actOptions) addWait(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&f.wait, "wait", false, usage)
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "With --wait: maximum time to wait, such as 30m; 0 waits forever")
}

// run acts, and then waits if the user requested that.
func (o *options) run(ctx context.Context, c *clients, flags *actOptions) error {
	done, err := o.act(ctx, c, flags)
	if err != nil || done == nil || !flags.wait {
		return err
	}
	wait := &statusOptions{timeout: flags.timeout, hash: done.hash, digest: done.digest, restored: flags.Verb == view.VerbAbort}
	return o.wait(ctx, c, flags.Name, wait)
}

// changing limits how often, and for how long, a write is retried while the hub or another user changes the object.
var changing = wait.Backoff{Steps: 9, Duration: 20 * time.Millisecond, Factor: 2, Jitter: 0.1}

// repeated calls a function that reads, checks and writes the object, and retries if the object changed in between. The hub writes the
// status often during a rollout.
func repeated(write func() error) (err error) {
	_ = retry.OnError(changing, hasChanged, func() error { // It returns nil for a canceled context.
		err = write()
		return err
	})
	return err
}

// hasChanged reports whether a write failed because the object changed: a conflict, or a JSON patch whose test failed. The API server does
// not give a cause for the latter.
func hasChanged(err error) bool {
	var failure apierrors.APIStatus
	if apierrors.IsConflict(err) {
		return true
	}
	return apierrors.IsInvalid(err) && errors.As(err, &failure) &&
		(failure.Status().Details == nil || len(failure.Status().Details.Causes) == 0)
}

// act plans an action, asks the user to confirm it, and writes it. It returns the action, or nil if nothing changed.
func (o *options) act(ctx context.Context, c *clients, flags *actOptions) (a *action, err error) {
	var written *workv1alpha1.ManifestWorkReplicaSet
	confirmed := ""
	err = repeated(func() error {
		if a, err = o.actionOf(ctx, c, &flags.Action, nil); err != nil {
			return err
		}
		if flags.unchanged != nil {
			err = flags.unchanged(a)
		}
		if err != nil || flags.dryRun == dryRunClient {
			return err
		}
		if flags.asks && flags.dryRun != dryRunServer && a.Question != confirmed {
			if err := o.confirm(a, flags, confirmed); err != nil {
				return err
			}
			confirmed = a.Question
		}
		written, err = c.write(ctx, a, flags.dryRun == dryRunServer)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case flags.dryRun == dryRunClient:
		return nil, o.printYAML(a.patch)
	case flags.dryRun == dryRunServer:
		return nil, o.valid(a, written)
	}
	if err := o.requested(ctx, c, a); err != nil || a.Verb != view.VerbUndo {
		return a, err
	}
	return a, o.handOver(ctx, c, a.set, written)
}

// confirm asks the user to confirm an action. confirmed is the question that the user confirmed before; empty for none. An approval applies
// only to the group that the user saw first, even with --yes.
func (o *options) confirm(a *action, flags *actOptions, confirmed string) error {
	if confirmed != "" && flags.Verb == view.VerbApprove {
		return fmt.Errorf("the rollout of %q has changed, and nothing was approved: read its state again", a.set.Name)
	}
	return o.ask(a.Then+" "+a.Question, flags.yes)
}

// valid prints that the API server would accept an action, and what an undo would change.
func (o *options) valid(a *action, written *workv1alpha1.ManifestWorkReplicaSet) error {
	title := string(a.Verb)
	if a.Revision != 0 {
		title = fmt.Sprintf("%s to the template of revision %d", a.Verb, a.Revision)
	}
	if err := o.did(a.set.Name, title+" is valid (server dry run)"); err != nil || a.Verb != view.VerbUndo {
		return err
	}
	return o.printChange(a.set, written)
}

// write sends the patch of an action to the API server.
func (c *clients) write(ctx context.Context, a *action, dryRun bool) (*workv1alpha1.ManifestWorkReplicaSet, error) {
	data, err := json.Marshal(a.patch)
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: a.manager}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return c.patch(ctx, a.set.Name, a.kind, data, options, a.subresources...)
}

// requested prints that an action was requested, and what the hub will do. The object has only the request: whether it succeeds is up to
// the hub.
func (o *options) requested(ctx context.Context, c *clients, a *action) error {
	if err := o.did(a.set.Name, string(a.Verb)+" requested"); err != nil {
		return err
	}
	if err := o.tell(a.done + a.Then); err != nil {
		return err
	}
	newPrinter(o.ErrOut, screenOf(o.ErrOut)).alarms(view.AlarmsOf(nil, c.lease(ctx), o.now()))
	return nil
}

// did prints the result of a command in kubectl's format.
func (o *options) did(name, what string) error {
	return o.sayf("%s %s\n", resourceOf(name), what)
}
