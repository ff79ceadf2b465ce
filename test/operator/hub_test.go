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

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
	"github.com/open-cluster-management-io/work-rollback/test/operator/operatortest"
)

// patience is the time limit of a wait. It elapses only if something is wrong, or the machine is busy.
const patience = time.Minute

// hub is a hub of OCM with the components of this project that run there.
type hub struct {
	*operatortest.Hub
	definitions apiextensionsclient.Interface
	auditLog    string
	work        *sandbox.WorkHub
	// image is the path of the binary that the work hub runs.
	image   string
	webhook *sandbox.WebhookServer
	// asked is the number of the work hub's requests in the audit log at the time when the hub got all its permissions.
	asked int
}

func newHub(t *testing.T) *hub {
	t.Helper()
	policy, err := filepath.Abs("testdata/audit-policy.yaml")
	require.NoError(t, err)
	h := &hub{auditLog: filepath.Join(t.TempDir(), "audit.log")}
	h.Hub = operatortest.Start(t,
		"--audit-policy-file="+policy, "--audit-log-path="+h.auditLog,
		// As on an older hub, where a client has to list objects to fill its cache.
		"--feature-gates=WatchList=false",
		// As on OpenShift: creating an object that blocks the deletion of its owner requires a permission on that owner.
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
	)
	h.definitions, err = apiextensionsclient.NewForConfig(h.Plane.RESTConfig())
	require.NoError(t, err)
	return h
}

// runDeployments runs the work hub and the webhook server of this project as the operator's Deployments.
func (h *hub) runDeployments(t *testing.T) {
	t.Helper()
	binary := operatortest.BuildRelease(t, "v9.0.0")
	var err error
	h.image = filepath.Join(t.TempDir(), "work")
	h.pull(t, binary)
	h.work, err = sandbox.NewDeployedWorkHub(h.Env.Group, h.image)
	require.NoError(t, err)
	h.webhook, err = sandbox.NewWebhookServer(h.Env.Group, binary)
	require.NoError(t, err)
	waiting, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, workload := range map[string]operatortest.Workload{sandbox.WorkController: h.work, sandbox.WorkWebhook: h.webhook} {
		require.NoError(t, h.RunDeployment(t, name, workload).WaitRunning(waiting))
	}
}

// pull copies a binary to the path of the work hub's image.
func (h *hub) pull(t *testing.T, binary string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(h.image))
	require.NoError(t, os.Symlink(binary, h.image))
}

// joinAndPlace starts managed clusters, which a Placement selects.
func (h *hub) joinAndPlace(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, h.Fleet.Namespace(ctx, namespace))
	require.NoError(t, h.Fleet.Bind(ctx, namespace))
	require.NoError(t, h.Fleet.Place(ctx, namespace, "all-clusters"))
	h.Join(t)
}

// definition returns the hub's CRD of ManifestWorkReplicaSets.
func (h *hub) definition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd, err := h.definitions.ApiextensionsV1().CustomResourceDefinitions().
		Get(t.Context(), "manifestworkreplicasets.work.open-cluster-management.io", metav1.GetOptions{})
	require.NoError(t, err)
	return crd
}

// knowsAborts reports whether a CRD has the field that records an abort, which upstream's CRD lacks.
func knowsAborts(crd *apiextensionsv1.CustomResourceDefinition) bool {
	_, ok := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["abortedTime"]
	return ok
}

// eventually polls until check returns nil, and fails with its last error.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	await.Eventually(t, patience, what, check)
}
