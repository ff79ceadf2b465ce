// Package plugin implements the kubectl plugin for ManifestWorkReplicaSets. It reads API objects and prints the views of package view.
// It writes only ManifestWorkReplicaSets: the spec and annotations for undo, the spec for pause and resume, and the status for abort
// and retry.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/version"
)

// fieldManager is the field manager of every write by the plugin.
const fieldManager = "kubectl-mwrs"

// options holds the streams, flags and clock that all commands share.
type options struct {
	genericiooptions.IOStreams
	flags *genericclioptions.ConfigFlags
	now   func() time.Time
	// age formats a duration. HumanDuration is kubectl's format.
	age func(time.Duration) string
	// sampleFrom is the number of ManifestWorks from which `get` and `why` read only a sample. sampleStep is the size of the first part.
	sampleFrom, sampleStep int
}

// Option configures the plugin.
type Option func(*options)

// WithAges sets the function that formats all ages and remaining times, so that the output does not depend on the time.
func WithAges(format func(time.Duration) string) Option {
	return func(o *options) { o.age = format }
}

// WithClock sets the clock.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.now = now }
}

// WithSamples sets the number of ManifestWorks from which `get` and `why` read only a sample, and the number that they read first.
func WithSamples(from, step int) Option {
	return func(o *options) { o.sampleFrom, o.sampleStep = from, step }
}

// Main runs the plugin as a program, and returns the exit code.
func Main(args []string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		sig := <-signals
		signal.Stop(signals) // A second Ctrl-C kills the process.
		if sig == syscall.SIGTERM {
			cancel(&exitError{code: exitTerminated})
		}
		cancel(nil)
	}()
	LogTo(os.Stderr)
	return Run(ctx, args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
}

// Run runs the plugin and returns the exit code. args excludes the program name. If the context ends because of Ctrl-C, each command ends
// without a message.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams, changes ...Option) int {
	out, problems := plain.For(streams.Out), plain.For(streams.ErrOut)
	defer func() { _ = errors.Join(out.Close(), problems.Close()) }()
	streams.In, streams.Out, streams.ErrOut = &input{ctx: ctx, Reader: streams.In}, out, problems
	cmd := newCommand(streams, changes...)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	var coded *exitError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		if errors.As(context.Cause(ctx), &coded) {
			return coded.code
		}
		return exitInterrupted
	case errors.As(err, &coded):
	default:
		coded = &exitError{code: 1, message: messageOf(err)}
	}
	if coded.message != "" {
		_, _ = fmt.Fprintln(streams.ErrOut, strings.ReplaceAll(coded.message, "\n", "\n  "))
	}
	return coded.code
}

// LogTo sends the logs of libraries to an output, as untrusted texts. The loggers are process-wide.
func LogTo(out io.Writer) {
	out = plain.For(out)
	log.SetOutput(out)
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out))))
}

// The exit codes of a command that Ctrl-C or SIGTERM ended, as shells define them.
const (
	exitInterrupted = 128 + int(syscall.SIGINT)
	exitTerminated  = 128 + int(syscall.SIGTERM)
)

// exitError is an error with its own exit code. Its message may be empty.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

func newCommand(streams genericiooptions.IOStreams, changes ...Option) *cobra.Command {
	o := &options{IOStreams: streams, flags: genericclioptions.NewConfigFlags(true), now: time.Now, age: duration.HumanDuration,
		sampleFrom: sampleFrom, sampleStep: sampleStep}
	for _, change := range changes {
		change(o)
	}
	cmd := &cobra.Command{
		Use:           "kubectl-mwrs",
		Short:         "Inspect, undo and abort the rollouts of ManifestWorkReplicaSets",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl mwrs"},
		Version:       version.Get().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.ErrOut)
	o.flags.AddFlags(cmd.PersistentFlags())
	cmd.AddGroup(&cobra.Group{ID: groupSee, Title: "Inspect:"}, &cobra.Group{ID: groupAct, Title: "Manage rollouts:"},
		&cobra.Group{ID: groupAhead, Title: "Look ahead:"}, &cobra.Group{ID: groupAdmin, Title: "Administer:"})
	for _, make := range []func(*options) *cobra.Command{
		newList, newGet, newClusters, newWhy, newHistory, newDiff, newExport, newReport, newDashboard, newPlan, newSimulate, newLint, newDoctor,
		newStatus, newApprove, newReject, newUndo, newAbort, newRetry, newPause, newResume,
	} {
		cmd.AddCommand(make(o))
	}
	cmd.AddCommand(newVersion())
	completes(cmd, "namespace", o.completing(findNamespaces))
	completes(cmd, "context", o.findContexts)
	return cmd
}

func newVersion() *cobra.Command {
	cmd := version.NewCommand()
	cmd.GroupID, cmd.ValidArgsFunction = groupAdmin, cobra.NoFileCompletions
	cmd.Example = `  # Print the version of the plugin; doctor compares it with the hub's
  kubectl mwrs version`
	return cmd
}

// The command groups in the help.
const (
	groupSee   = "see"
	groupAct   = "act"
	groupAhead = "ahead"
	groupAdmin = "admin"
)
