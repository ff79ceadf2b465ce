package webhook

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/tools"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// patience is the time limit of a wait. It elapses only if something is wrong, or the machine is busy.
const patience = 60 * time.Second

// The label of a namespace, and its values: the server that checks the namespace, if any.
const (
	lookedAtBy = "webhook"
	usual      = "usual"
	strict     = "strict" // with the feature gate NilExecutorValidating
	nobody     = "nobody"
)

// hub is shared by all tests: one API server, and two webhook servers.
var hub struct {
	env    *controlplane.Env
	plane  *controlplane.ControlPlane
	config *rest.Config
	kube   kubernetes.Interface
	// servers are the addresses of the webhook servers, without a path, and their CAs.
	servers map[string]admissionregistrationv1.WebhookClientConfig
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
	if hub.plane, err = hub.env.StartHub(ctx, controlplane.HubOptions{GarbageCollection: true}); err != nil {
		return 1, err
	}
	hub.config = hub.plane.RESTConfig()
	if hub.kube, err = kubernetes.NewForConfig(hub.config); err != nil {
		return 1, err
	}
	if err := grantTheOperatorsRights(ctx); err != nil {
		return 1, err
	}
	if err := applyPolicies(ctx); err != nil {
		return 1, err
	}
	binary, err := tools.BuildWork(ctx, hub.env.Group.Dir)
	if err != nil {
		return 1, err
	}
	hub.servers = map[string]admissionregistrationv1.WebhookClientConfig{}
	for name, gates := range map[string]string{
		usual: "ManifestWorkReplicaSet=true", strict: "ManifestWorkReplicaSet=true,NilExecutorValidating=true",
	} {
		if err := startServer(ctx, binary, name, gates); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// startServer runs a webhook server, and makes the API server call it for the namespaces labeled with its name.
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
	server, err := sandbox.NewWebhookServer(hub.env.Group, binary)
	if err != nil {
		return err
	}
	// Only settings that two servers on one machine can't share differ from the operator's.
	command := process.Command{
		Name: "webhook-" + name, Args: append(args, "--kubeconfig="+kubeconfig, "--certdir="+certs.dir, "--manifestLimit=20000"),
	}
	for range 3 {
		if err = server.Start(ctx, command); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	// The probes of the operator's Deployment request this path.
	if err := server.Healthy(ctx); err != nil {
		return err
	}
	return registerServer(ctx, name, "https://"+server.Address(), certs.ca)
}

// eventually polls until check returns nil, and fails with its last error.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	await.Eventually(t, patience, what, check)
}
