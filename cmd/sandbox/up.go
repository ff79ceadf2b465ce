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
		Long: "Starts a sandbox and keeps it until Ctrl-C. If the work hub is killed, the sandbox restarts it, as a kubelet does: kill -9 its process to " +
			"try a crash. \"sandbox swap <binary>\" runs another build of it, to try an upgrade and a downgrade.\n\n" +
			"Whole clusters have an API server and OCM's own work agent. Light clusters have neither. On the hub, all of a light cluster is " +
			"real: its ManagedCluster, its namespace, and an agent that watches and reports ManifestWorks. OCM's own evaluator reads the " +
			"condition rules. The cluster behind it is simulated: manifests exist in memory only, a Deployment becomes ready, and there are no " +
			"Pods and no status feedback. Images whose names contain \"broken\" can't be pulled on any cluster, and those with \"flaky\" can't be pulled " +
			"on every second light cluster.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, out := cmd.Context(), cmd.OutOrStdout()
			return o.withSandbox(ctx, out, func(s *sandbox.Sandbox) error { return o.stayUp(ctx, out, s) })
		},
	}
	cmd.Flags().IntVar(&o.clusters, "clusters", defaultClusters, "Number of managed clusters. All except the first --whole are light.")
	cmd.Flags().IntVar(&o.whole, "whole", defaultClusters, "Number of whole clusters, about 0.5 GB of memory each.")
	o.addFlags(cmd)
	return cmd
}

func (o *options) stayUp(ctx context.Context, out io.Writer, s *sandbox.Sandbox) error {
	samples, err := story.WriteSamples(s.Env.Group.Path(samplesDirectory))
	if err != nil {
		return err
	}
	if err := writeEnvironment(s, o.workBinary); err != nil {
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
		fmt.Fprintln(out, "This sandbox can't swap its work hub:", err) // For example, the path of a socket may be too long.
	} else {
		defer control.Close()
	}
	// Ctrl-C is the intended way to stop it.
	return s.StayUp(ctx)
}

func printHints(out io.Writer, s *sandbox.Sandbox, samples []string) error {
	fmt.Fprintf(out, "\nThe sandbox is up until Ctrl-C. The ManifestWorkReplicaSet \"web\" rolls out in the namespace %q of the hub.\n\n", sandbox.Namespace)
	fmt.Fprintf(out, "  eval \"$(bin/sandbox env)\"\n      # in another terminal: kubectl and the plugin, the hub, and this namespace\n")
	for _, cluster := range s.Clusters {
		kubeconfig, err := cluster.Kubeconfig("")
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  export KUBECONFIG=%s   # to use %s instead\n", kubeconfig, cluster.Name)
	}
	if light := s.LightClusters; len(light) > 0 {
		fmt.Fprintf(out, "  # %d light clusters, up to %s, have no API server: see \"sandbox up --help\"\n", len(light), light[len(light)-1])
	}
	fmt.Fprintf(out, "\nTry, on the hub (docs/tutorial.md has more):\n\n")
	for _, hint := range []struct{ command, comment string }{
		{"kubectl mwrs get web -w", "the progress of the rollout"},
		{"kubectl mwrs clusters web", "which revision each cluster has"},
		{"kubectl apply -f " + samples[1], "a broken version: the hub aborts its rollout"},
		{"kubectl mwrs why web cluster1", "the cause"},
		{"kubectl apply -f " + samples[2], "a good version"},
		{"kubectl apply -f " + samples[0], "the first version again: an undo"},
	} {
		fmt.Fprintf(out, "  %s\n      # %s\n", hint.command, hint.comment)
	}
	if s.Operator != nil {
		fmt.Fprintf(out, "  kubectl edit clustermanager %s\n      # the configuration of OCM's operator: without the feature gate ManifestWorkReplicaSet, the work hub ends\n",
			sandbox.ClusterManagerName)
	}
	fmt.Fprintf(out, "  kill -9 %d\n      # a crash of the work hub, which is then started again. bin/sandbox kill does the same\n", s.WorkHub.Process().PID())
	fmt.Fprintf(out, "  bin/sandbox swap <path of another build of bin/work>\n      # an upgrade, or the way back: make build VERSION=v1.2.3 gives it a version\n")
	fmt.Fprintf(out, "\nOn a cluster: kubectl get deployments,pods. The logs are in %s.\n", s.Env.Group.Path("logs"))
	return nil
}
