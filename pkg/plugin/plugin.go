// Package plugin is the kubectl plugin for ManifestWorkReplicaSets. It reads API objects, shows them as package view has them, and
// writes only ManifestWorkReplicaSets: the spec for pause, resume and undo, and the status for abort and retry.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/open-cluster-management-io/work-rollback/pkg/version"
)

// fieldManager is the field manager of every write of the plugin.
const fieldManager = "kubectl-mwrs"

// options are what all commands share.
type options struct {
	genericiooptions.IOStreams
	flags *genericclioptions.ConfigFlags
	now   func() time.Time
}

// Run runs the plugin with the arguments after its name, and returns the exit code.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	cmd := newCommand(streams)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var coded *exitError
	if errors.As(err, &coded) {
		if coded.message != "" {
			_, _ = fmt.Fprintln(streams.ErrOut, coded.message)
		}
		return coded.code
	}
	_, _ = fmt.Fprintln(streams.ErrOut, "error: "+err.Error())
	return 1
}

// exitError is an outcome with its own exit code.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

func newCommand(streams genericiooptions.IOStreams) *cobra.Command {
	o := &options{IOStreams: streams, flags: genericclioptions.NewConfigFlags(true), now: time.Now}
	cmd := &cobra.Command{
		Use:           "kubectl-mwrs",
		Short:         "See the rollouts of ManifestWorkReplicaSets, and take them back",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl mwrs"},
		Version:       version.Get().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.ErrOut)
	o.flags.AddFlags(cmd.PersistentFlags())
	cmd.AddGroup(&cobra.Group{ID: groupSee, Title: "See:"}, &cobra.Group{ID: groupAct, Title: "Act:"},
		&cobra.Group{ID: groupAhead, Title: "Look ahead:"})
	for _, make := range []func(*options) *cobra.Command{
		newList, newGet, newClusters, newWhy, newHistory, newDiff, newExport, newLint,
		newStatus, newUndo, newAbort, newRetry, newPause, newResume,
	} {
		cmd.AddCommand(make(o))
	}
	return cmd
}

// The groups of commands in the help.
const (
	groupSee   = "see"
	groupAct   = "act"
	groupAhead = "ahead"
)
