package docs

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/tools"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
	"github.com/open-cluster-management-io/work-rollback/test/operator/operatortest"
)

// patience is the time limit of a wait. It elapses only if something is wrong, or the machine is busy.
const patience = 2 * time.Minute

// root is the path to the root of the repository.
const root = "../.."

// hub is a hub of OCM, and a user with kubectl in a clone of the repository.
type hub struct {
	*operatortest.Hub
	kubelet *sandbox.Kubelet
	// binary is this project's binary, which work runs.
	binary string
	work   *sandbox.WorkHub
	// clone is the user's working directory. environment has the path of kubectl, and the kubeconfig.
	clone       string
	environment []string
	// stopUpstream ends OCM's own work hub.
	stopUpstream func() error
	// broker runs while the commands that require a broker are tested.
	broker *broker
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{Hub: operatortest.Start(t), stopUpstream: func() error { return nil }}
	t.Cleanup(func() { require.NoError(t, h.stopUpstream()) })
	h.clone = clone(t)
	h.setEnvironment(t)
	// OCM's registration, which does not run here, would report the binding of the example as bound.
	require.NoError(t, h.Fleet.Bind(t.Context(), "default"))
	h.Join(t)
	h.binary = operatortest.BuildWork(t)
	var err error
	h.work, err = sandbox.NewDeployedWorkHub(h.Env.Group, h.binary, sandbox.ShortLease()...)
	require.NoError(t, err)
	h.kubelet = h.RunDeployment(t, sandbox.WorkController, h.work)
	return h
}

// clone copies the files that the commands use. In the copy, the example soaks and fails within seconds instead of minutes.
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"deploy", "docs"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(root, part))))
	}
	example := filepath.Join(dir, "docs", "examples", "web.yaml")
	content, err := os.ReadFile(example)
	require.NoError(t, err)
	faster := strings.NewReplacer("minSuccessTime: 30s", "minSuccessTime: 1s", "progressDeadline: 2m", "progressDeadline: 8s").Replace(string(content))
	require.Equal(t, 2, strings.Count(faster, ": 8s")+strings.Count(faster, ": 1s"))
	require.NoError(t, os.WriteFile(example, []byte(faster), 0o600))
	return dir
}

func (h *hub) setEnvironment(t *testing.T) {
	t.Helper()
	built, err := tools.Ensure(t.Context(), os.Stderr, "")
	require.NoError(t, err)
	kubeconfig, err := h.Plane.Kubeconfig("")
	require.NoError(t, err)
	plugins := t.TempDir()
	out, err := exec.Command("go", "build", "-o", plugins+"/", "../../cmd/kubectl-mwrs").CombinedOutput()
	require.NoError(t, err, string(out))
	h.environment = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir(),
		"PATH="+strings.Join([]string{filepath.Dir(built.Kubectl), plugins, os.Getenv("PATH")}, string(os.PathListSeparator)))
}

// shell runs commands until one fails, and returns their output.
func (h *hub) shell(t *testing.T, commands string) string {
	t.Helper()
	output, problem := h.try(t, commands)
	require.Empty(t, problem, "%s\nprinted: %s", commands, output)
	return output
}

// try is like shell, for commands that may fail. problem is empty if they succeeded.
func (h *hub) try(t *testing.T, commands string) (output, problem string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	command.Dir, command.Env = h.clone, h.environment
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), err.Error() + ": " + stderr.String()
	}
	return stdout.String(), ""
}

// eventually polls until check returns nil, and fails with its last error.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	await.Eventually(t, patience, what, check)
}
