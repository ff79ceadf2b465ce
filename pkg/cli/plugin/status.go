package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"

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

// exitCodes maps the states at which the command stops without success to exit codes.
var exitCodes = map[workv1alpha1.State]int{
	workv1alpha1.StateStalled: exitStalled, workv1alpha1.StateAborted: exitAborted, workv1alpha1.StatePaused: exitPaused,
}

// statusOptions holds the flags of the status command.
type statusOptions struct {
	timeout  time.Duration
	number   int64
	restored bool
	// hash is the revision that an undo restored, and digest is the digest of its template; empty if anything may be rolled out.
	hash   string
	digest revision.Digest
}

func newStatus(o *options) *cobra.Command {
	flags := &statusOptions{}
	cmd := &cobra.Command{
		Use: "status NAME", GroupID: groupAct, Args: cobra.ExactArgs(1), ValidArgsFunction: o.completeName,
		Short: "Wait until a rollout ends",
		Long: "Wait until a rollout ends, and print its progress and what the hub does next.\n" +
			"With --wait-restored, wait after an abort until every cluster has confirmed the revision to which it returns.\n" +
			"Exit codes: 0 complete, 1 error, 2 stalled, 3 aborted, 4 timeout, 5 paused.",
		Example: `  # In a pipeline, after you changed the template
  kubectl mwrs status web --timeout 30m`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.status(cmd.Context(), args[0], flags) },
	}
	cmd.Flags().DurationVar(&flags.timeout, "timeout", 0, "Maximum time to wait, such as 30m; 0 waits forever")
	o.revisionFlag(cmd, &flags.number, "revision", "Fail if a different revision is being rolled out")
	cmd.Flags().BoolVar(&flags.restored, "wait-restored", false,
		"Wait until every cluster has confirmed the revision to which an abort returns")
	return cmd
}

func (o *options) status(ctx context.Context, name string, flags *statusOptions) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	if _, err := c.replicaSets().Get(ctx, name, metav1.GetOptions{}); err != nil {
		return err
	}
	if flags.restored {
		return o.waitRestored(ctx, c, name, flags.timeout)
	}
	bounded, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if flags.timeout > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(bounded, flags.timeout)
		defer cancel()
	}
	watched, end := context.WithCancel(bounded)
	warner := &hubWarner{options: o, clients: c, name: name}
	warner.check(watched)
	var warned sync.WaitGroup
	warned.Go(func() { warner.run(watched) })
	defer warned.Wait()
	defer end()
	lw := c.listWatchOf(name, fail)
	last, ahead := "", &outlookPrinter{options: o, clients: c, name: name}
	logged := klog.NewContext(bounded, o.watchLogger())
	_, err = watchtools.UntilWithSync(logged, lw, &workv1alpha1.ManifestWorkReplicaSet{}, nil, func(event watch.Event) (bool, error) {
		set, ok := event.Object.(*workv1alpha1.ManifestWorkReplicaSet)
		if !ok || event.Type == watch.Deleted {
			return true, fmt.Errorf("manifestworkreplicasets %q was deleted", name)
		}
		line, done, outcome := outcomeOf(set, flags)
		if line == last {
			return done, outcome
		}
		last = line
		if err := o.tell(line); err != nil {
			return true, err
		}
		if !done {
			return false, ahead.print(bounded)
		}
		return done, outcome
	})
	if cause := context.Cause(bounded); apierrors.IsForbidden(cause) {
		return cause
	}
	if flags.timeout > 0 && ctx.Err() == nil && isTimeUp(err) {
		return &exitError{code: exitTimeout, message: fmt.Sprintf("timed out after %s", flags.timeout)}
	}
	return err
}

// isTimeUp reports whether an error is the end of --timeout. A request that client-go's rate limiter would hold up for longer fails before
// it.
func isTimeUp(err error) bool {
	if err == nil {
		return false
	}
	return wait.Interrupted(err) && !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "would exceed context deadline")
}

// watchLogger logs the problems of a watch, except its end.
func (o *options) watchLogger() klog.Logger {
	return funcr.New(func(_, text string) {
		if !strings.Contains(text, context.Canceled.Error()) {
			o.notef("note: %s\n", text)
		}
	}, funcr.Options{})
}

// listWatchOf lists and watches one ManifestWorkReplicaSet. It calls fail if the user may not watch it.
func (c *clients) listWatchOf(name string, fail context.CancelCauseFunc) *cache.ListWatch {
	selector := fields.OneTermEqualSelector("metadata.name", name).String()
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, list metav1.ListOptions) (runtime.Object, error) {
			list.FieldSelector = selector
			return c.replicaSets().List(ctx, list)
		},
		WatchFuncWithContext: func(ctx context.Context, list metav1.ListOptions) (watch.Interface, error) {
			list.FieldSelector = selector
			events, err := c.replicaSets().Watch(ctx, list)
			if apierrors.IsForbidden(err) { // A reflector would try again without end.
				fail(err)
			}
			return events, err
		},
	}
}

// outlookPrinter prints what the hub does next, as far as the user may read it.
type outlookPrinter struct {
	*options
	clients *clients
	name    string
	read    time.Time
	last    string
}

// outlookEvery is the least time between two reads of the works.
const outlookEvery = 5 * time.Second

// print prints what the hub does next, if that has changed.
func (p *outlookPrinter) print(ctx context.Context) error {
	if p.now().Sub(p.read) < outlookEvery {
		return nil
	}
	p.read = p.now()
	objects, err := p.readWith(ctx, p.clients, p.name, p.sampleReader())
	if err != nil {
		return nil //nolint:nilerr // The progress is what matters. The next event tells what has become of the object.
	}
	then, texts := view.Of(objects).Then, ""
	for i := range then {
		texts += then[i].Text + "\n"
	}
	if texts == p.last {
		return nil
	}
	p.last = texts
	out := newPrinter(p.Out, screenOf(p.Out))
	for i := range then {
		out.prose("  ", p.when(&then[i])+": "+then[i].Text)
	}
	return out.err
}

// outcomeBeforeHub returns the outcome if the hub has not observed the latest change, and the status is older; empty otherwise. A user's
// retry removes status.abortedTime, which changes no generation.
func outcomeBeforeHub(set *workv1alpha1.ManifestWorkReplicaSet) (line string, done bool, outcome error) {
	switch observed := view.Observed(set); {
	case !set.DeletionTimestamp.IsZero() && set.Status.State != workv1alpha1.StateDeleting:
		return "Deleting", true, fmt.Errorf("manifestworkreplicasets %q is being deleted", set.Name)
	case set.Spec.Paused && !observed && set.Status.State != workv1alpha1.StatePaused:
		return "Paused: the hub has not observed the latest change", true, &exitError{code: exitPaused}
	case !set.DeletionTimestamp.IsZero(): // The status has it.
	case !set.Spec.Paused && !observed, set.Status.AbortedTime == nil && set.Status.State == workv1alpha1.StateAborted:
		return "Waiting for the hub to observe the latest change...", false, nil
	}
	return "", false, nil
}

// outcomeBeforeUndo returns the outcome if the revision that an undo restored is not rolled out; empty otherwise. An abort ends first.
func (f *statusOptions) outcomeBeforeUndo(set *workv1alpha1.ManifestWorkReplicaSet) (line string, done bool, outcome error) {
	if f.hash == "" || set.Status.UpdateRevision == f.hash || set.Spec.Paused || !set.DeletionTimestamp.IsZero() {
		return "", false, nil
	}
	if digest, err := revision.DigestOf(&set.Spec.ManifestWorkTemplate); err != nil || digest != f.digest {
		return "The template was changed after the undo", true, fmt.Errorf("somebody changed the template of %q after the undo", set.Name)
	}
	return "Waiting for the hub to begin the rollout of the restored revision...", false, nil
}

// outcomeOf returns the progress of a rollout as a line, and reports whether to stop waiting. outcome is nil if the rollout is complete.
func outcomeOf(set *workv1alpha1.ManifestWorkReplicaSet, flags *statusOptions) (line string, done bool, outcome error) {
	number := flags.number
	if line, done, outcome = outcomeBeforeHub(set); line != "" {
		return line, done, outcome
	}
	if line, done, outcome = flags.outcomeBeforeUndo(set); line != "" {
		return line, done, outcome
	}
	f := view.Of(&view.Objects{ReplicaSet: set})
	line = fmt.Sprintf("%s: %s", f.State, f.Why)
	for i := range f.Revisions {
		if rev := &f.Revisions[i]; rev.Update && number != 0 && rev.Number != number {
			return line, true, fmt.Errorf("revision %d is being rolled out, not revision %d", rev.Number, number)
		}
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
