package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/story"
)

func newUpCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a sandbox and keep it until Ctrl-C",
		Long: "Starts a sandbox and keeps it until Ctrl-C. A work hub that is killed is started again, as a kubelet does: kill -9 its process to " +
			"rehearse a crash. \"sandbox swap <binary>\" runs another build of it meanwhile, to rehearse an upgrade and the way back.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, out := cmd.Context(), cmd.OutOrStdout()
			return o.withSandbox(ctx, out, func(s *sandbox.Sandbox) error { return stayUp(ctx, out, s) })
		},
	}
	o.addFlags(cmd)
	return cmd
}

func stayUp(ctx context.Context, out io.Writer, s *sandbox.Sandbox) error {
	samples, err := story.WriteSamples(s.Env.Group.Path("samples"))
	if err != nil {
		return err
	}
	if err := story.Begin(ctx, s); err != nil {
		return err
	}
	if err := printHints(out, s, samples); err != nil {
		return err
	}
	control, err := s.Control()
	if err != nil {
		fmt.Fprintln(out, "This sandbox can't swap its work hub:", err) // The path of a socket may be too long, for one.
	} else {
		defer control.Close()
	}
	// Ctrl-C is how it is meant to end.
	return s.StayUp(ctx)
}

func printHints(out io.Writer, s *sandbox.Sandbox, samples []string) error {
	hub, err := s.Hub.Kubeconfig("")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe sandbox is up until Ctrl-C. The ManifestWorkReplicaSet \"web\" rolls out in the namespace %q of the hub.\n\n", sandbox.Namespace)
	fmt.Fprintf(out, "  export KUBECONFIG=%s   # the hub\n", hub)
	for _, cluster := range s.Clusters {
		kubeconfig, err := cluster.Kubeconfig("")
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  export KUBECONFIG=%s   # %s\n", kubeconfig, cluster.Name)
	}
	fmt.Fprintf(out, "\nTry, on the hub:\n\n")
	for _, hint := range []struct{ command, comment string }{
		{"kubectl -n " + sandbox.Namespace + " get mwrs web -w", "how the rollout goes"},
		{"kubectl get manifestworks -A -L work.open-cluster-management.io/controller-hash", "which revision each cluster has"},
		{"kubectl -n " + sandbox.Namespace + " get controllerrevisions", "the revisions"},
		{"kubectl apply -f " + samples[1], "a version that is broken: the hub takes it back"},
		{"kubectl apply -f " + samples[2], "one that is good"},
		{"kubectl apply -f " + samples[0], "back to the first: an undo"},
	} {
		fmt.Fprintf(out, "  %s\n      # %s\n", hint.command, hint.comment)
	}
	if s.Operator != nil {
		fmt.Fprintf(out, "  kubectl edit clustermanager %s\n      # the configuration of OCM's operator: without the feature gate ManifestWorkReplicaSet the work hub ends\n",
			sandbox.ClusterManagerName)
	}
	fmt.Fprintf(out, "  kill -9 %d\n      # a crash of the work hub: it is started again\n", s.WorkHub.Process().PID())
	fmt.Fprintf(out, "  bin/sandbox swap <path of another build of bin/work>\n      # an upgrade, or the way back: make build VERSION=v1.2.3 gives it a version\n")
	fmt.Fprintf(out, "\nOn a cluster: kubectl get deployments,pods. The logs are in %s.\n", s.Env.Group.Path("logs"))
	return nil
}
