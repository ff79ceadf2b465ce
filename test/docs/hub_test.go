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
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"

	"github.com/open-cluster-management-io/work-rollback/pkg/client/clientset/versioned"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/tools"
)

// patience is how long a test waits for what should happen. It passes only when something is wrong, or the machine is busy.
const patience = 2 * time.Minute

// root of the repository, from here.
const root = "../.."

// The clusters, as the pages name them.
var clusterNames = []string{"cluster1", "cluster2"}

// hub is what `clusteradm init` and two `clusteradm join` made, and a person with kubectl in a clone of the repository.
type hub struct {
	env      *controlplane.Env
	plane    *controlplane.ControlPlane
	operator *sandbox.Operator
	kubelet  *sandbox.Kubelet
	work     *sandbox.WorkHub
	// clone is the person's working directory; environment holds the path of kubectl, and the kubeconfig.
	clone       string
	environment []string
	// stopUpstream ends OCM's own work hub.
	stopUpstream func() error

	kube        kubernetes.Interface
	works       workclient.Interface
	replicaSets versioned.Interface
}

func newHub(t *testing.T) *hub {
	t.Helper()
	ctx := t.Context()
	env, err := controlplane.NewEnv(ctx, os.Stderr)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop(context.Background())) })
	require.NoError(t, sandbox.LogToFile(env.Group.Path("logs", "operator-and-agents.log")))
	h := &hub{env: env, stopUpstream: func() error { return nil }}
	h.plane, err = env.StartHub(ctx, controlplane.HubOptions{Bare: true, GarbageCollection: true})
	require.NoError(t, err)
	config := h.plane.RESTConfig()
	h.kube, err = kubernetes.NewForConfig(config)
	require.NoError(t, err)
	h.works, err = workclient.NewForConfig(config)
	require.NoError(t, err)
	h.replicaSets, err = versioned.NewForConfig(config)
	require.NoError(t, err)
	h.operator, err = sandbox.StartOperator(ctx, config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.operator.Stop()) })
	t.Cleanup(func() { require.NoError(t, h.stopUpstream()) })
	h.clone = clone(t)
	h.setEnvironment(t)
	h.join(t)
	h.runDeployment(t)
	return h
}

// join starts managed clusters, with OCM's own work agents and placement controller.
func (h *hub) join(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	fleet, err := sandbox.NewFleet(h.plane.RESTConfig())
	require.NoError(t, err)
	// Registration, which no one runs here, would report the binding of the example as bound.
	require.NoError(t, fleet.Bind(ctx, "default"))
	planes, err := h.env.StartManagedClusters(ctx, false, clusterNames...)
	require.NoError(t, err)
	kubeconfig, err := h.plane.Kubeconfig("")
	require.NoError(t, err)
	for _, plane := range planes {
		require.NoError(t, fleet.Join(ctx, plane.Name, plane.Host()))
		agent, err := sandbox.NewAgent(sandbox.AgentOptions{
			Cluster: plane.Name, HubKubeconfig: kubeconfig, Managed: plane.RESTConfig(), StatusSyncInterval: time.Second,
		})
		require.NoError(t, err)
		agent.Start()
		t.Cleanup(agent.Stop)
	}
	stop := sandbox.StartPlacement(h.plane.RESTConfig())
	t.Cleanup(func() { require.NoError(t, stop()) })
}

// runDeployment runs the work hub once the operator has made its Deployment, whatever image that names.
func (h *hub) runDeployment(t *testing.T) {
	t.Helper()
	binary, err := tools.BuildWork(t.Context(), t.TempDir())
	require.NoError(t, err)
	// It is the only one, and need not wait for the lease of the one before.
	h.work, err = sandbox.NewDeployedWorkHub(h.env.Group, binary, "--disable-leader-election")
	require.NoError(t, err)
	h.kubelet, err = sandbox.StartKubelet(h.plane.APIServer, sandbox.HubNamespace, sandbox.WorkController, h.work)
	require.NoError(t, err)
	t.Cleanup(h.kubelet.Stop)
	t.Cleanup(func() {
		if child := h.work.Process(); t.Failed() && child != nil {
			t.Log("the end of the work hub's log:\n" + child.LogTail(40))
		}
	})
}

// clone copies what the commands use. The example soaks and fails in seconds there, as nobody wants to wait for minutes here.
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
	kubectl, err := tools.EnsureKubectl(t.Context(), os.Stderr, "")
	require.NoError(t, err)
	kubeconfig, err := h.plane.Kubeconfig("")
	require.NoError(t, err)
	h.environment = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir(),
		"PATH="+filepath.Dir(kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// shell runs commands as a person would who stops at the first that fails, and returns what they print.
func (h *hub) shell(t *testing.T, commands string) string {
	t.Helper()
	output, problem := h.try(t, commands)
	require.Empty(t, problem, "%s\nprinted: %s", commands, output)
	return output
}

// try is shell for what may fail. problem is empty where it did not.
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

// eventually polls until check returns nil, and fails with what it said last.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v (%v)", what, last, err)
	}
}
