package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// The exit codes of the status command. The exit code of an error is 1.
const (
	exitStalled = 2
	exitAborted = 3
	exitTimeout = 4
	exitPaused  = 5
)

// exitCodes maps states to exit codes. At each of these states, the command stops without success.
var exitCodes = map[workv1alpha1.State]int{
	workv1alpha1.StateStalled: exitStalled, workv1alpha1.StateWouldAbort: exitStalled,
	workv1alpha1.StateAborted: exitAborted, workv1alpha1.StatePaused: exitPaused,
}

// statusOptions holds the flags of the status command.
type statusOptions struct {
	timeout  time.Duration
	number   int64
	restored bool
	output   output
	// hash is the hash of the revision that an undo restored, and digest is the digest of its template. Both are empty if the command waits
	// for any rollout.
	hash   string
	digest revision.Digest
}

func newStatus(o *options) *cobra.Command {
	flags := &statusOptions{}
	cmd := o.named(&cobra.Command{
		Use: "status NAME", GroupID: groupAct,
		Short: "Wait until a rollout ends",
		Long: "Wait until a rollout ends, and print its progress and what the hub does next.\n" +
			"With --wait-restored, wait after an abort until every cluster has confirmed the revision to which it returns.\n" +
			"Exit codes: 0 complete, 1 error, 2 stalled, 3 aborted, 4 timeout, 5 paused.",
		Example: `  # In a pipeline, after you changed the template
  kubectl mwrs status web --timeout 30m`,
	}, func(ctx context.Context, c *clients, name string) error { return o.status(ctx, c, name, flags) })
	cmd.Flags().DurationVar(&flags.timeout, "timeout", 0, "Maximum time to wait, such as 30m; 0 waits forever")
	o.revisionFlag(cmd, &flags.number, "revision", "Fail if a different revision is being rolled out")
	cmd.Flags().BoolVar(&flags.restored, "wait-restored", false,
		"Wait until every cluster has confirmed the revision to which an abort returns")
	flags.output.addFlag(cmd, "name")
	return cmd
}

func (o *options) status(ctx context.Context, c *clients, name string, flags *statusOptions) error {
	if !flags.output.isSet() {
		return o.wait(ctx, c, name, flags)
	}
	quiet := *o
	quiet.Out = io.Discard
	err := quiet.wait(ctx, c, name, flags)
	if outcome := (*exitError)(nil); err != nil && !errors.As(err, &outcome) {
		return err
	}
	return errors.Join(err, o.get(ctx, c, name, &flags.output))
}

// waitEvery is the interval at which a wait reads the object.
const waitEvery = 2 * time.Second

// wait waits until a rollout ends or, with --wait-restored, until every cluster has returned after an abort. It continues while the API
// server does not respond.
func (o *options) wait(ctx context.Context, c *clients, name string, flags *statusOptions) error {
	bounded := ctx
	if flags.timeout > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, flags.timeout)
		defer cancel()
	}
	w := &waiter{options: o, clients: c, name: name, flags: flags}
	look := w.look
	if flags.restored {
		look = w.restoration
	}
	problem := ""
	err := wait.PollUntilContextCancel(bounded, waitEvery, true, func(ctx context.Context) (bool, error) {
		done, err := w.step(ctx, look)
		if done || !isOutage(ctx, err) {
			return done, err
		}
		if err.Error() != problem {
			problem = err.Error()
			o.notef("note: %s\n", problem)
		}
		return false, nil
	})
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return &exitError{code: exitTimeout, message: fmt.Sprintf("timed out after %s", flags.timeout)}
	}
	return err
}

// isOutage reports whether an error shows that the API server does not respond now, but may respond later.
func isOutage(ctx context.Context, err error) bool {
	var answered apierrors.APIStatus
	if ctx.Err() != nil {
		return false
	}
	if errors.As(err, &answered) {
		return answered.Status().Code >= http.StatusInternalServerError || apierrors.IsTooManyRequests(err)
	}
	return errors.As(err, new(*url.Error))
}

// waiter observes a rollout until it ends, and prints the changes.
type waiter struct {
	*options
	clients *clients
	name    string
	flags   *statusOptions
	// seen is true if the object was read. line, ahead and alarms are the last values that were printed.
	seen        bool
	line, ahead string
	alarms      int
	// warned is the time of the last check of the hub, and read is the time when the works were last read.
	warned, read time.Time
}

// step prints the progress if it has changed, and reports whether the wait has ended. If the line is empty, the error is a read error.
func (w *waiter) step(ctx context.Context, look func(context.Context) (string, bool, error)) (done bool, err error) {
	line, done, outcome := look(ctx)
	if line == "" {
		return !w.seen, outcome
	}
	w.seen = true
	if line != w.line {
		w.line = line
		if err := w.tell(line); err != nil {
			return true, err
		}
		if !done && !w.flags.restored {
			return false, w.outlook(ctx)
		}
	}
	return done, outcome
}

// look returns the progress of a rollout as a line, and reports whether it has ended.
func (w *waiter) look(ctx context.Context) (line string, done bool, outcome error) {
	set, err := w.clients.set(ctx, w.name)
	switch {
	case w.seen && apierrors.IsNotFound(err):
		return "", false, fmt.Errorf("manifestworkreplicasets %q was deleted", w.name)
	case err != nil:
		return "", false, err
	}
	w.warn(ctx, set)
	return outcomeOf(set, w.flags)
}

// outlookEvery is the minimum time between two reads of the works.
const outlookEvery = 5 * time.Second

// outlook prints the next actions of the hub if they have changed, as far as the user's permissions show them.
func (w *waiter) outlook(ctx context.Context) error {
	if w.now().Sub(w.read) < outlookEvery {
		return nil
	}
	w.read = w.now()
	objects, err := w.readWith(ctx, w.clients, w.name, w.sampleReader())
	if err != nil {
		return nil //nolint:nilerr // The progress is what matters. The next look reports a missing object.
	}
	then, texts := view.FleetOf(objects).Then, ""
	for i := range then {
		texts += then[i].Text + "\n"
	}
	if texts == w.ahead {
		return nil
	}
	w.ahead = texts
	out := newPrinter(w.Out, screenOf(w.Out))
	for i := range then {
		out.prose("  ", w.when(&then[i])+": "+then[i].Text)
	}
	return out.err
}

// warn prints the reasons why the hub does not act, if they have changed.
func (w *waiter) warn(ctx context.Context, set *workv1alpha1.ManifestWorkReplicaSet) {
	if w.now().Sub(w.warned) < view.ObservedWithin/3 {
		return
	}
	w.warned = w.now()
	alarms := view.Alarms(&view.Objects{ReplicaSet: set, Lease: w.clients.lease(ctx), Now: w.now()})
	if len(alarms) != w.alarms && ctx.Err() == nil { // The texts contain changing times.
		newPrinter(w.ErrOut, screenOf(w.ErrOut)).alarms(alarms)
	}
	w.alarms = len(alarms)
}

// outcomeBeforeHub returns the outcome if the hub has not observed the latest change, so that the status is stale; empty otherwise. A
// user's retry removes status.abortedTime, which does not change the generation.
func outcomeBeforeHub(set *workv1alpha1.ManifestWorkReplicaSet) (line string, done bool, outcome error) {
	switch observed := view.Observed(set); {
	case !set.DeletionTimestamp.IsZero(): // Its state is Deleting, whatever the hub has observed.
	case set.Spec.Paused && !observed && set.Status.State != workv1alpha1.StatePaused:
		return "Paused: the hub has not observed the latest change", true, &exitError{code: exitPaused}
	case !set.Spec.Paused && !observed, set.Status.AbortedTime == nil && set.Status.State == workv1alpha1.StateAborted:
		return "Waiting for the hub to observe the latest change...", false, nil
	}
	return "", false, nil
}

// outcomeBeforeUndo returns the outcome if the revision that an undo restored is not rolled out; empty otherwise. An abort that is in
// progress ends first.
func (f *statusOptions) outcomeBeforeUndo(set *workv1alpha1.ManifestWorkReplicaSet) (line string, done bool, outcome error) {
	if f.hash == "" || set.Status.UpdateRevision == f.hash || set.Spec.Paused || !set.DeletionTimestamp.IsZero() {
		return "", false, nil
	}
	if digest, err := revision.DigestOf(&set.Spec.ManifestWorkTemplate); err != nil || digest != f.digest {
		return "The template was changed after the undo", true, fmt.Errorf("the template of %q was changed after the undo", set.Name)
	}
	return "Waiting for the hub to begin the rollout of the restored revision...", false, nil
}

// outcomeOf returns the progress of a rollout as a line, and reports whether to stop waiting. outcome is nil if the rollout is complete.
func outcomeOf(set *workv1alpha1.ManifestWorkReplicaSet, flags *statusOptions) (line string, done bool, outcome error) {
	if line, done, outcome = outcomeBeforeHub(set); line != "" {
		return line, done, outcome
	}
	if line, done, outcome = flags.outcomeBeforeUndo(set); line != "" {
		return line, done, outcome
	}
	f := view.FleetOf(&view.Objects{ReplicaSet: set})
	line = strings.TrimSuffix(fmt.Sprintf("%s: %s", f.State, f.Why), ": ")
	if unverified := view.Unverified(set); unverified != "" {
		line += "; " + unverified
	}
	for i := range f.Approvals {
		if !f.Approvals[i].Waits { // The condition names those that wait.
			line += "; " + f.Approvals[i].Text()
		}
	}
	if update := view.RowOf(set).Update; flags.number != 0 && update != 0 && update != flags.number {
		return line, true, fmt.Errorf("revision %d is being rolled out, not revision %d", update, flags.number)
	}
	if code, ends := exitCodes[f.State]; ends {
		return line, true, &exitError{code: code}
	}
	switch f.State {
	case workv1alpha1.StateComplete:
		return line, true, nil
	case workv1alpha1.StateInvalid:
		return line, true, errors.New("the spec is invalid")
	case workv1alpha1.StateDeleting:
		return line, true, fmt.Errorf("manifestworkreplicasets %q is being deleted", set.Name)
	}
	return line, false, nil
}

// restoration returns the progress of an abort as a line, and reports whether every cluster has confirmed the restored revision.
func (w *waiter) restoration(ctx context.Context) (line string, done bool, err error) {
	objects, err := w.readSet(ctx, w.clients, w.name, leaseStep, historyStep(w.clients))
	if err != nil {
		return "", false, err
	}
	set := objects.ReplicaSet
	switch {
	case !set.DeletionTimestamp.IsZero():
		return "", false, fmt.Errorf("manifestworkreplicasets %q is being deleted", w.name)
	case set.Status.AbortedTime == nil || set.Status.CurrentRevision == "":
		return "", false, fmt.Errorf("the rollout of %q is not aborted: it never was, or it was retried, or its template was changed", w.name)
	case len(objects.Missing) > 0:
		return "", false, fmt.Errorf("no permission to %s, which the wait requires", objects.Missing[0])
	}
	if view.Restored(objects) {
		return "Restored: every cluster has confirmed revision " + view.CurrentNumber(objects), true, nil
	}
	f := view.FleetOf(&view.Objects{ReplicaSet: set, Lease: objects.Lease, Now: w.now()})
	switch {
	case len(f.Alarms) > 0:
		return fmt.Sprintf("HUB: %s; remedy: %s", f.Alarms[0].Text, f.Alarms[0].Remedy), false, nil
	case f.State != workv1alpha1.StateAborting && f.State != workv1alpha1.StateAborted:
		return "Waiting for the hub to observe the abort...", false, nil
	}
	return fmt.Sprintf("%s: %s", f.State, f.Why), false, nil
}
