package operator

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"

	"github.com/open-cluster-management-io/work-rollback/pkg/client/clientset/versioned"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/process"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/tools"
)

// patience is how long a test waits for what should happen. It passes only when something is wrong, or the machine is busy.
const patience = time.Minute

// The clusters of these tests.
var clusterNames = []string{"cluster1", "cluster2"}

// hub is a hub with OCM's operator and this project's deploy/, and two managed clusters with OCM's work agents.
type hub struct {
	env      *controlplane.Env
	plane    *controlplane.ControlPlane
	auditLog string
	operator *sandbox.Operator
	work     *sandbox.WorkHub
	webhook  *sandbox.WebhookServer
	// asked is how many requests of the work hub the audit log had when the hub had all its rights.
	asked int

	kube        kubernetes.Interface
	definitions apiextensionsclient.Interface
	works       workclient.Interface
	replicaSets versioned.Interface
	clusters    map[string]kubernetes.Interface
}

func newHub(t *testing.T) *hub {
	t.Helper()
	ctx := t.Context()
	env, err := controlplane.NewEnv(ctx, os.Stderr)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop(context.Background())) })
	require.NoError(t, sandbox.LogToFile(env.Group.Path("logs", "operator-and-agents.log")))
	policy, err := filepath.Abs("testdata/audit-policy.yaml")
	require.NoError(t, err)
	h := &hub{env: env, auditLog: env.Group.Path("audit.log")}
	h.plane, err = env.StartHub(ctx, controlplane.HubOptions{
		Bare: true, GarbageCollection: true,
		APIServerArgs: []string{
			"--audit-policy-file=" + policy, "--audit-log-path=" + h.auditLog,
			// As on an older hub, where a client that fills its cache has to list.
			"--feature-gates=WatchList=false",
			// As on OpenShift: who makes an object that holds its owner up needs a right on that owner.
			"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		},
	})
	require.NoError(t, err)
	h.connect(t, h.plane.RESTConfig())

	h.operator, err = sandbox.StartOperator(ctx, h.plane.RESTConfig())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.operator.Stop()) })
	return h
}

func (h *hub) connect(t *testing.T, config *rest.Config) {
	t.Helper()
	var err error
	h.kube, err = kubernetes.NewForConfig(config)
	require.NoError(t, err)
	h.definitions, err = apiextensionsclient.NewForConfig(config)
	require.NoError(t, err)
	h.works, err = workclient.NewForConfig(config)
	require.NoError(t, err)
	h.replicaSets, err = versioned.NewForConfig(config)
	require.NoError(t, err)
}

// run runs the work hub and the webhook server of this project as the operator's Deployments.
func (h *hub) run(t *testing.T) {
	t.Helper()
	binary, err := tools.BuildWork(t.Context(), t.TempDir())
	require.NoError(t, err)
	h.work, err = sandbox.NewDeployedWorkHub(h.env.Group, binary)
	require.NoError(t, err)
	h.webhook, err = sandbox.NewWebhookServer(h.env.Group, binary)
	require.NoError(t, err)
	waiting, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, workload := range map[string]interface {
		sandbox.Workload
		Process() *process.Process
	}{sandbox.WorkController: h.work, sandbox.WorkWebhook: h.webhook} {
		kubelet, err := sandbox.StartKubelet(h.plane.APIServer, sandbox.HubNamespace, name, workload)
		require.NoError(t, err)
		t.Cleanup(func() {
			kubelet.Stop()
			if child := workload.Process(); t.Failed() && child != nil {
				t.Log("the end of the log of " + name + ":\n" + child.LogTail(40))
			}
		})
		require.NoError(t, kubelet.WaitRunning(waiting))
	}
}

// join starts managed clusters, with OCM's own work agents and placement controller.
func (h *hub) join(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	fleet, err := sandbox.NewFleet(h.plane.RESTConfig())
	require.NoError(t, err)
	require.NoError(t, fleet.Namespace(ctx, namespace))
	require.NoError(t, fleet.Bind(ctx, namespace))
	require.NoError(t, fleet.Place(ctx, namespace, "all-clusters"))
	planes, err := h.env.StartManagedClusters(ctx, false, clusterNames...)
	require.NoError(t, err)
	kubeconfig, err := h.plane.Kubeconfig("")
	require.NoError(t, err)
	h.clusters = map[string]kubernetes.Interface{}
	for _, plane := range planes {
		require.NoError(t, fleet.Join(ctx, plane.Name, plane.Host()))
		agent, err := sandbox.NewAgent(sandbox.AgentOptions{
			Cluster: plane.Name, HubKubeconfig: kubeconfig, Managed: plane.RESTConfig(), StatusSyncInterval: time.Second,
		})
		require.NoError(t, err)
		agent.Start()
		t.Cleanup(agent.Stop)
		h.clusters[plane.Name], err = kubernetes.NewForConfig(plane.RESTConfig())
		require.NoError(t, err)
	}
	stop := sandbox.StartPlacement(h.plane.RESTConfig())
	t.Cleanup(func() { require.NoError(t, stop()) })
}

// definition is the CRD of ManifestWorkReplicaSets that the hub has.
func (h *hub) definition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd, err := h.definitions.ApiextensionsV1().CustomResourceDefinitions().
		Get(t.Context(), "manifestworkreplicasets.work.open-cluster-management.io", metav1.GetOptions{})
	require.NoError(t, err)
	return crd
}

// knowsAborts says whether a CRD has the field by which an abort is remembered, which upstream's lacks.
func knowsAborts(crd *apiextensionsv1.CustomResourceDefinition) bool {
	_, ok := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["abortedTime"]
	return ok
}

// eventually polls until check returns nil, and fails with what it said last.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	within(t, patience, what, check)
}

// within is eventually with a patience of its own.
func within(t *testing.T, patience time.Duration, what string, check func() error) {
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
