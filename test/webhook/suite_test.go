package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/process"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/tools"
)

// patience is how long a test waits for what should happen. It passes only when something is wrong, or the machine is busy.
const patience = 60 * time.Second

// Namespaces bear this label: which of the two servers looks at them, if any.
const (
	lookedAtBy = "webhook"
	usual      = "usual"
	strict     = "strict" // with the feature gate NilExecutorValidating
	nobody     = "nobody"
)

// hub is what all tests share: one API server, and two webhook servers.
var hub struct {
	env    *controlplane.Env
	plane  *controlplane.ControlPlane
	config *rest.Config
	kube   kubernetes.Interface
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if hub.env, err = controlplane.NewEnv(ctx, os.Stderr); err != nil {
		return 1, err
	}
	defer func() { _ = hub.env.Stop(context.WithoutCancel(ctx)) }()
	if hub.plane, err = hub.env.StartHub(ctx, controlplane.HubOptions{}); err != nil {
		return 1, err
	}
	hub.config = hub.plane.RESTConfig()
	if hub.kube, err = kubernetes.NewForConfig(hub.config); err != nil {
		return 1, err
	}
	if err := grantTheOperatorsRights(ctx); err != nil {
		return 1, err
	}
	binary := hub.env.Group.Path("work")
	if err := build(ctx, binary); err != nil {
		return 1, err
	}
	for name, gates := range map[string]string{
		usual: "ManifestWorkReplicaSet=true", strict: "ManifestWorkReplicaSet=true,NilExecutorValidating=true",
	} {
		if err := startServer(ctx, binary, name, gates); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// build builds the work hub of this checkout.
func build(ctx context.Context, binary string) error {
	root, err := tools.FindRoot()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/work")
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building cmd/work: %w\n%s", err, output)
	}
	return nil
}

// startServer runs a webhook server and makes the API server call it for the namespaces that bear its name.
func startServer(ctx context.Context, binary, name, gates string) error {
	certs, err := writeCertificate(name)
	if err != nil {
		return err
	}
	kubeconfig, err := serviceAccountKubeconfig(name)
	if err != nil {
		return err
	}
	args, err := operatorsArguments(gates)
	if err != nil {
		return err
	}
	args = append(args, "--kubeconfig="+kubeconfig, "--certdir="+certs.dir, "--metrics-bind-address=0", "--manifestLimit=20000")
	var port int
	// Another process can take a port that was free.
	for range 3 {
		if port, err = launch(ctx, binary, name, args); err == nil {
			return registerServer(ctx, name, fmt.Sprintf("https://127.0.0.1:%d", port), certs.ca)
		}
	}
	return err
}

// launch starts a server at a port of its own, and returns when it serves. Only what two servers on one machine can't share differs
// from what the operator says.
func launch(ctx context.Context, binary, name string, args []string) (int, error) {
	port, err := process.FreePort()
	if err != nil {
		return 0, err
	}
	healthPort, err := process.FreePort()
	if err != nil {
		return 0, err
	}
	health := fmt.Sprintf("127.0.0.1:%d", healthPort)
	child, err := hub.env.Group.Start(process.Command{
		Name: "webhook-" + name, Path: binary, Args: append(args, fmt.Sprintf("--port=%d", port), "--health-probe-bind-address="+health),
	})
	if err != nil {
		return 0, err
	}
	if err := child.WaitReady(ctx, patience, func(ctx context.Context) error { return get(ctx, "http://"+health+"/readyz") }); err != nil {
		return 0, errors.Join(err, child.Kill())
	}
	// The probes of the operator's Deployment ask for this one.
	return port, get(ctx, "http://"+health+"/healthz")
}

func get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s says %s", filepath.Base(url), response.Status)
	}
	return nil
}

// eventually polls until check returns nil, and fails with what it said last.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v (%v)", what, last, err)
	}
}
