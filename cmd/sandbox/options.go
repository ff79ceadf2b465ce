package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/tools"
)

// options are the flags of demo and up.
type options struct {
	clusters   int
	keep       bool
	workBinary string
	operator   bool
}

func (o *options) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&o.clusters, "clusters", 3, "How many managed clusters to start, about 0.5 GB of memory each.")
	flags.BoolVar(&o.keep, "keep", false, "Leave the directory with kubeconfigs and logs behind.")
	flags.BoolVar(&o.operator, "operator", true, "Have OCM's ClusterManager operator and deploy/ set up the hub, and run the work hub with the rights that they give it.")
	flags.StringVar(&o.workBinary, "work-binary", "", "The work hub to run. (default: \"work\" beside this program, else bin/work of the repository)")
}

func (o *options) complete() error {
	if o.clusters < 1 {
		return fmt.Errorf("--clusters is %d: at least one is needed", o.clusters)
	}
	if o.workBinary != "" {
		return nil
	}
	if self, err := os.Executable(); err == nil {
		o.workBinary = filepath.Join(filepath.Dir(self), "work")
		if _, err := os.Stat(o.workBinary); err == nil {
			return nil
		}
	}
	root, err := tools.FindRoot()
	if err != nil {
		return err
	}
	o.workBinary = filepath.Join(root, "bin", "work")
	if _, err := os.Stat(o.workBinary); err != nil {
		return fmt.Errorf("there is no work hub to run: build it with \"make build\", or name one with --work-binary: %w", err)
	}
	return nil
}

// withSandbox starts a sandbox, does something with it, and stops it whatever happened.
func (o *options) withSandbox(ctx context.Context, out io.Writer, use func(*sandbox.Sandbox) error) error {
	if err := o.complete(); err != nil {
		return err
	}
	s, err := sandbox.Start(ctx, sandbox.Options{
		Clusters: o.clusters, WorkBinary: o.workBinary, Operator: o.operator, Keep: o.keep, Out: out,
	})
	if err != nil {
		return err
	}
	err = use(s)
	fmt.Fprintln(out, "Stopping the sandbox ...")
	// ctx may have ended; stopping needs one that lives.
	stopErr := s.Stop(context.WithoutCancel(ctx))
	if stopErr != nil {
		fmt.Fprintln(out, "Stopping failed, look for processes and files that are left:", stopErr)
	}
	if o.keep {
		fmt.Fprintln(out, "Kept", s.Env.Group.Dir)
	}
	return errors.Join(err, stopErr)
}
