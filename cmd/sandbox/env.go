package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
)

// environmentFile is the file in a sandbox's directory with the commands that "sandbox env" prints.
const environmentFile = "env"

// samplesDirectory is the directory with the demo's manifests.
const samplesDirectory = "samples"

func newEnvCommand() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print shell commands that point kubectl at a running sandbox",
		Long: "Prints shell commands for the sandbox that \"sandbox up\" keeps running: eval \"$(bin/sandbox env)\". They set KUBECONFIG to its hub, in " +
			"the namespace of its ManifestWorkReplicaSet, and SAMPLES to the directory of the manifests, and add kubectl and the plugin to PATH.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if dir, err = running(dir); err != nil {
				return err
			}
			content, err := os.ReadFile(filepath.Join(dir, environmentFile))
			if err != nil {
				return fmt.Errorf("reading the environment of the sandbox: %w", err)
			}
			fmt.Fprint(cmd.OutOrStdout(), string(content))
			return nil
		},
	}
	addDirFlag(cmd, &dir)
	return cmd
}

// writeEnvironment writes the commands that newEnvCommand prints. The plugin is built next to the work hub.
func writeEnvironment(s *sandbox.Sandbox, workBinary string) error {
	kubeconfig := s.Env.Group.Path("kubeconfig")
	if err := s.Hub.KubeconfigIn(sandbox.Namespace, kubeconfig); err != nil {
		return err
	}
	work, err := filepath.Abs(workBinary)
	if err != nil {
		return fmt.Errorf("looking for the plugin: %w", err)
	}
	content := fmt.Sprintf("export KUBECONFIG='%s'\nexport SAMPLES='%s'\nexport PATH='%s:%s':\"$PATH\"\n",
		kubeconfig, s.Env.Group.Path(samplesDirectory), filepath.Dir(work), filepath.Dir(s.Env.Tools.Kubectl))
	if err := os.WriteFile(s.Env.Group.Path(environmentFile), []byte(content), 0o600); err != nil {
		return fmt.Errorf("writing the environment of the sandbox: %w", err)
	}
	return nil
}
