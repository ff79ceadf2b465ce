// Package plugin implements the kubectl plugin for ManifestWorkReplicaSets. It reads API objects and prints the views of package view.
// It writes only ManifestWorkReplicaSets: the spec and annotations for undo, the spec for pause and resume, and the status for abort
// and retry.
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

// options holds the streams, flags and clock that all commands share.
type options struct {
	genericiooptions.IOStreams
	flags *genericclioptions.ConfigFlags
	now   func() time.Time
}

// Run runs the plugin and returns the exit code. args excludes the program name.
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

// exitError is an error with its own exit code. Its message may be empty.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

func newCommand(streams genericiooptions.IOStreams) *cobra.Command {
	o := &options{IOStreams: streams, flags: genericclioptions.NewConfigFlags(true), now: time.Now}
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
		&cobra.Group{ID: groupAhead, Title: "Check manifests:"})
	for _, make := range []func(*options) *cobra.Command{
		newList, newGet, newClusters, newWhy, newHistory, newDiff, newExport, newLint, newDoctor,
		newStatus, newUndo, newAbort, newRetry, newPause, newResume,
	} {
		cmd.AddCommand(make(o))
	}
	return cmd
}

// The command groups in the help.
const (
	groupSee   = "see"
	groupAct   = "act"
	groupAhead = "ahead"
)
