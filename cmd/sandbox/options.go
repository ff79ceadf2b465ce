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

// defaultClusters is the number of managed clusters, and the maximum number of whole ones that `up` starts by default.
const defaultClusters = 3

// options are the flags of demo and up.
type options struct {
	// clusters is the number of managed clusters; all but the first whole ones are light.
	clusters, whole int
	keep            bool
	workBinary      string
	operator        bool
	ocm             string
}

func (o *options) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.keep, "keep", false, "Keep the directory with kubeconfigs and logs.")
	flags.BoolVar(&o.operator, "operator", true, "Set up the hub with OCM's operator and deploy/, and run the work hub with the permissions that they grant.")
	flags.StringVar(&o.workBinary, "work-binary", "", "Work hub to run. (default: \"work\" next to this program, otherwise bin/work in the repository)")
	flags.StringVar(&o.ocm, "ocm", "", "The directory of a checkout of OCM, such as of v1.3.1. This program is built against it first, with its operator, agents and "+
		"placement controller, which takes minutes the first time. The work hub stays the same. (default: the release that go.mod names)")
}

func (o *options) complete() error {
	if o.clusters < 1 {
		return fmt.Errorf("--clusters is %d: at least one is needed", o.clusters)
	}
	if o.whole < 0 {
		return fmt.Errorf("--whole is %d: use 0 or more", o.whole)
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

// withSandbox starts a sandbox, calls a function with it, and always stops it.
func (o *options) withSandbox(ctx context.Context, out io.Writer, use func(*sandbox.Sandbox) error) error {
	if err := o.complete(); err != nil {
		return err
	}
	if o.ocm != "" {
		return runAgainst(ctx, out, o.ocm)
	}
	whole := min(o.clusters, o.whole)
	s, err := sandbox.Start(ctx, sandbox.Options{
		Clusters: whole, Light: o.clusters - whole, WorkBinary: o.workBinary, Operator: o.operator, Keep: o.keep, Out: out,
	})
	if err != nil {
		return err
	}
	err = use(s)
	fmt.Fprintln(out, "Stopping the sandbox ...")
	// ctx may have ended, but Stop needs a context that has not.
	stopErr := s.Stop(context.WithoutCancel(ctx))
	if stopErr != nil {
		fmt.Fprintln(out, "Stopping failed. Look for leftover processes and files:", stopErr)
	}
	if o.keep {
		fmt.Fprintln(out, "Kept", s.Env.Group.Dir)
	}
	return errors.Join(err, stopErr)
}
