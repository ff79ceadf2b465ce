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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// action is what a command writes to a ManifestWorkReplicaSet.
type action struct {
	view.Effect
	set     *workv1alpha1.ManifestWorkReplicaSet
	kind    types.PatchType
	patch   any
	manager string
	// subresources is empty for the spec and the metadata.
	subresources []string
	// done is what the write has changed already; it may be empty.
	done string
}

// title names the action.
func (a *action) title() string {
	if a.Revision == 0 {
		return string(a.Verb)
	}
	return fmt.Sprintf("%s to the template of revision %d", a.Verb, a.Revision)
}

// The values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// actOptions holds the flags of the commands that act.
type actOptions struct {
	dryRun string
	// asks is true for an action that the user confirms, unless yes is true.
	asks, yes bool
}

// addDryRun adds the flag --dry-run to a command.
func (f *actOptions) addDryRun(cmd *cobra.Command) {
	f.dryRun = dryRunNone
	choiceFlag(cmd, &f.dryRun, "dry-run", "", "Print the patch (client), or let the API server check it without a change (server)",
		dryRunNone, dryRunClient, dryRunServer)
}

// addYes makes a command ask before it acts, and adds the flag --yes.
func (f *actOptions) addYes(cmd *cobra.Command) {
	f.asks = true
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "Do not ask for confirmation")
}

// waits is the flag --wait of an action, and how long to wait.
type waits struct {
	wait    bool
	timeout time.Duration
}

func (w *waits) addFlags(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&w.wait, "wait", false, usage)
	cmd.Flags().DurationVar(&w.timeout, "timeout", 0, "With --wait: maximum time to wait, such as 30m; 0 waits forever")
}

// changing is how often, and for how long, a write is repeated while the hub or another user changes the object.
var changing = wait.Backoff{Steps: 9, Duration: 20 * time.Millisecond, Factor: 2, Jitter: 0.1}

// repeated calls a function that reads the object, checks it and writes it, until nobody changes the object in between. The hub writes
// the status often during a rollout.
func repeated(write func() error) (err error) {
	_ = retry.OnError(changing, hasChanged, func() error { // It returns nil for a canceled context.
		err = write()
		return err
	})
	return err
}

// hasChanged reports whether a write failed because the object changed: a conflict, or a JSON patch whose test failed. The API server
// names no cause for the latter.
func hasChanged(err error) bool {
	var failure apierrors.APIStatus
	if apierrors.IsConflict(err) {
		return true
	}
	return apierrors.IsInvalid(err) && errors.As(err, &failure) &&
		(failure.Status().Details == nil || len(failure.Status().Details.Causes) == 0)
}

// act plans an action, lets the user confirm it, and writes it. It returns the object after the write; nil if nothing was changed.
func (o *options) act(
	ctx context.Context, c *clients, flags *actOptions, plan func() (*action, error),
) (written *workv1alpha1.ManifestWorkReplicaSet, err error) {
	var planned *action
	confirmed := ""
	err = repeated(func() error {
		if planned, err = plan(); err != nil {
			return err
		}
		if err := o.check(planned.set); err != nil || flags.dryRun == dryRunClient {
			return err
		}
		if flags.asks && flags.dryRun != dryRunServer && planned.Question != confirmed {
			if err := o.ask(planned.Then+" "+planned.Question, flags.yes); err != nil {
				return err
			}
			confirmed = planned.Question
		}
		written, err = c.write(ctx, planned, flags.dryRun == dryRunServer)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case flags.dryRun == dryRunClient:
		return nil, o.printYAML(planned.patch)
	case flags.dryRun == dryRunServer:
		return nil, o.valid(planned, written)
	}
	return written, o.requested(ctx, c, planned)
}

// valid prints that the API server would accept an action, and what an undo would change.
func (o *options) valid(a *action, written *workv1alpha1.ManifestWorkReplicaSet) error {
	if err := o.did(a.set.Name, a.title()+" is valid (server dry run)"); err != nil || a.Verb != view.VerbUndo {
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
	return c.replicaSets().Patch(ctx, a.set.Name, a.kind, data, options, a.subresources...)
}

// requested prints that an action was requested, and what the hub will do. Whether it does is for the hub to say: the object only has the
// request.
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
