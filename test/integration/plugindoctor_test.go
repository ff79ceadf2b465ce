package integration

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	"github.com/open-cluster-management-io/work-rollback/deploy"
	"github.com/open-cluster-management-io/work-rollback/deploy/crds"
	"github.com/open-cluster-management-io/work-rollback/internal/goldentest"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin"
	"github.com/open-cluster-management-io/work-rollback/pkg/version"
)

const hubNamespace = "open-cluster-management-hub"

var crdsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// checkup is a hub for `kubectl mwrs doctor`.
type checkup struct {
	t          *testing.T
	w          *world
	kubeconfig string
	screens    strings.Builder
}

// show adds the screen of a state, as a terminal shows it.
func (c *checkup) show(state string, args ...string) {
	c.t.Helper()
	var out bytes.Buffer
	code := plugin.Run(c.t.Context(), append([]string{"doctor", "--kubeconfig", c.kubeconfig}, args...),
		genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	screen := strings.ReplaceAll(stable(out.String()), version.Get().GitVersion, "v0.0.0")
	screen = leaseAge.ReplaceAllString(screen, "lease for 2h")
	fmt.Fprintf(&c.screens, "# %s\n$ kubectl mwrs %s\n%s(exit code %d)\n\n", state, strings.Join(append([]string{"doctor"}, args...), " "), screen, code)
}

var leaseAge = regexp.MustCompile(`lease for \d[\dhms]*`)

// run returns the result and the message of each check, and the exit code.
func (c *checkup) run(args ...string) (map[string]string, int) {
	c.t.Helper()
	var out, errs bytes.Buffer
	code := plugin.Run(c.t.Context(), append([]string{"doctor", "-o", "json", "--kubeconfig", c.kubeconfig}, args...),
		genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs})
	var found []struct{ Result, Check, Message, Remedy string }
	require.NoError(c.t, json.Unmarshal(out.Bytes(), &found), errs.String())
	results := map[string]string{}
	for _, one := range found {
		results[one.Check] = one.Result + " " + one.Message
		require.Equal(c.t, one.Result == "ok", one.Remedy == "", "%v", one)
	}
	return results, code
}

// says requires the start of one check's result and part of its message.
func (c *checkup) says(code int, check, result, message string, args ...string) {
	c.t.Helper()
	results, got := c.run(args...)
	require.True(c.t, strings.HasPrefix(results[check], result+" "), "%s: %q", check, results[check])
	require.Contains(c.t, results[check], message)
	require.Equal(c.t, code, got, "%v", results)
}

// healthy applies deploy/, except the ClusterManager, and creates the objects of a running hub.
func (c *checkup) healthy(server *httptest.Server) {
	ctx, t, kube := c.t.Context(), c.t, c.w.kube
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hubNamespace}}
	_, err := kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	require.NoError(t, err)
	objects, err := deploy.Render()
	require.NoError(t, err)
	resources := map[string]string{
		"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "Role": "roles", "RoleBinding": "rolebindings",
		"CustomResourceDefinition": "customresourcedefinitions",
	}
	for _, object := range objects {
		if resource := resources[object.GetKind()]; resource != "" {
			gvk := object.GroupVersionKind()
			_, err := c.w.dynamic.Resource(gvk.GroupVersion().WithResource(resource)).Namespace(object.GetNamespace()).
				Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "test", Force: true})
			require.NoError(t, err, object.GetName())
		}
	}
	c.patchCRD("manifestworks.work.open-cluster-management.io",
		`{"metadata":{"annotations":{"operator.open-cluster-management.io/version":"1.3.1"}}}`)
	_, err = kube.CoreV1().ConfigMaps(hubNamespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "work-hub-current-version"}, Data: map[string]string{"version": version.Get().GitVersion},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	now := metav1.NowMicro()
	_, err = kube.CoordinationV1().Leases(hubNamespace).Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "work-manager-lock"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("pod-1"), AcquireTime: &now, RenewTime: &now, LeaseDurationSeconds: ptr.To[int32](3600),
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.register(server)
}

func (c *checkup) patchCRD(name, patch string) {
	c.t.Helper()
	_, err := c.w.dynamic.Resource(crdsResource).Patch(c.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c.t, err)
}

// register registers a webhook for ManifestWorkReplicaSets that the server serves.
func (c *checkup) register(server *httptest.Server) {
	_, err := c.w.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(c.t.Context(),
		&admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "mwrs"},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: "mwrs.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionv1.SideEffectClassNone),
				FailurePolicy: ptr.To(admissionv1.Ignore),
				ClientConfig: admissionv1.WebhookClientConfig{
					URL:      ptr.To(server.URL),
					CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
				},
				Rules: []admissionv1.RuleWithOperations{{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule: admissionv1.Rule{
						APIGroups: []string{workv1alpha1.GroupName}, APIVersions: []string{"v1alpha1"}, Resources: []string{"manifestworkreplicasets"},
					},
				}},
			}},
		}, metav1.CreateOptions{})
	require.NoError(c.t, err)
}

// Each check of the doctor fails if its subject is broken, and the other checks do not.
func TestPluginDoctor(t *testing.T) {
	t.Parallel()
	c := &checkup{t: t, w: privateWorld(t, "doctor")}
	var err error
	c.kubeconfig, err = c.w.plane.Kubeconfig(t.TempDir() + "/kubeconfig")
	require.NoError(t, err)
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	c.healthy(server)
	results, code := c.run()
	require.Zero(t, code, "%v", results)
	for check, result := range results {
		require.Equal(t, check != "metrics", strings.HasPrefix(result, "ok "), "%s: %s", check, result)
	}
	require.Contains(t, results["webhook"], "is registered, and its CA bundle is valid until")
	require.Contains(t, results["leader"], "pod-1 leads since")
	c.says(0, "leaving", "ok", "nothing to resolve in 0 ManifestWorkReplicaSets", "--leaving")
	c.says(0, "crd-installed", "unknown", "you can't get customresourcedefinitions", "--as", "nobody")
	c.show("a healthy hub")
	c.show("a healthy hub", "--leaving")
	c.show("no permissions", "--as", "nobody")

	c.breaksTheCRD()
	c.breaksTheHub()
	goldentest.Equal(t, "screens/doctor.txt", c.screens.String(), unordered)
}

// breaksTheCRD breaks the annotations and the fields of the CRD.
func (c *checkup) breaksTheCRD() {
	const mwrs = "manifestworkreplicasets.work.open-cluster-management.io"
	c.patchCRD(mwrs, `{"metadata":{"annotations":{"kustomize.toolkit.fluxcd.io/prune":null}}}`)
	c.says(0, "crd-guarded", "warn", "a GitOps tool may delete the CRD")
	c.patchCRD(mwrs, `{"metadata":{"annotations":{"operator.open-cluster-management.io/version":"1.3.1"}}}`)
	c.says(1, "crd-guarded", "fail", `is "1.3.1": the ClusterManager operator replaces the CRD`)
	c.patchCRD("manifestworks.work.open-cluster-management.io",
		`{"metadata":{"annotations":{"operator.open-cluster-management.io/version":"1.9.0"}}}`)
	c.says(1, "ocm-version", "warn", "not been tested with OCM 1.9.0")
	require.NoError(c.t, controlplane.InstallCRDs(c.t.Context(), c.w.config, withoutTheFields(c.t)))
	c.says(1, "crd-complete", "fail", "the API server drops spec.pruneStrategy, status.ledger, status.state")
	c.show("a CRD of another hub, and a release of OCM that was not tested")
	require.NoError(c.t, controlplane.InstallCRDs(c.t.Context(), c.w.config, crds.ManifestWorkReplicaSet))
	c.says(1, "crd-complete", "ok", "every field")
}

// breaksTheHub breaks permissions, the version, the Lease and the webhook while a rollout is in progress.
func (c *checkup) breaksTheHub() {
	ctx, kube := c.t.Context(), c.w.kube
	f := newFleetIn(c.w, c.t, 1)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", all("1m", 0)))
	patch := []byte(`{"status":{"state":"RollingOut","conditions":[{"type":"Progressing","status":"True","reason":"X",` +
		`"lastTransitionTime":"2026-01-01T00:00:00Z","message":"x"}]}}`)
	_, err := c.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Patch(ctx, "web", types.MergePatchType, patch,
		metav1.PatchOptions{}, "status")
	require.NoError(c.t, err)
	c.says(0, "RollingOut", "warn", f.namespace+"/web", "--leaving")

	_, err = kube.CoreV1().ConfigMaps(hubNamespace).Patch(ctx, "work-hub-current-version", types.MergePatchType,
		[]byte(`{"data":{"version":"v0.9.0"}}`), metav1.PatchOptions{})
	require.NoError(c.t, err)
	c.says(1, "hub-version", "warn", `the hub is "v0.9.0"`)
	old := metav1.NewMicroTime(time.Now().Add(-2 * time.Hour)).UTC().Format(metav1.RFC3339Micro)
	_, err = kube.CoordinationV1().Leases(hubNamespace).Patch(ctx, "work-manager-lock", types.MergePatchType,
		[]byte(`{"spec":{"renewTime":"`+old+`"}}`), metav1.PatchOptions{})
	require.NoError(c.t, err)
	c.says(1, "leader", "fail", "pod-1 has not renewed its lease for 2h")
	c.says(1, "leader", "fail", "no work controller has led", "--hub-namespace", "kube-system")
	c.withoutLeaderElection(f)

	binding := "open-cluster-management:cluster-manager-work:revisions"
	require.NoError(c.t, kube.RbacV1().ClusterRoleBindings().Delete(ctx, binding, metav1.DeleteOptions{}))
	eventually(c.t, "the API server notices the deleted binding", func() error {
		if results, _ := c.run(); strings.HasPrefix(results["hub-rights"], "ok ") {
			return errors.New(results["hub-rights"])
		}
		return nil
	})
	c.says(1, "hub-rights", "fail", "work-controller-sa can't get controllerrevisions, list controllerrevisions")
	c.runsTwoHubs()

	hooks := kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	hook, err := hooks.Get(ctx, "mwrs", metav1.GetOptions{})
	require.NoError(c.t, err)
	hook.Webhooks[0].ClientConfig.CABundle = nil
	_, err = hooks.Update(ctx, hook, metav1.UpdateOptions{})
	require.NoError(c.t, err)
	c.says(1, "webhook", "fail", "data does not contain any valid RSA or ECDSA certificates")
	c.show("a broken hub")
	c.show("a broken hub", "--leaving")
	require.NoError(c.t, hooks.Delete(ctx, "mwrs", metav1.DeleteOptions{}))
	c.says(1, "webhook", "warn", "no validating webhook checks")
	_, err = kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "manifestworkreplicasets.work.open-cluster-management.io"},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "manifestworkreplicasets.work.open-cluster-management.io", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	c.says(1, "webhook", "ok", "the admission policies of deploy/ check")
}

// runsTwoHubs makes OCM's operator and deploy/chart both run a hub, and then deploy/chart alone.
func (c *checkup) runsTwoHubs() {
	ctx, accounts := c.t.Context(), c.w.kube.CoreV1().ServiceAccounts(hubNamespace)
	for _, name := range []string{"work-rollback", "work-controller-sa"} {
		_, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(c.t, err)
	}
	c.says(1, "one-hub", "fail", "OCM's operator and deploy/chart both run a work hub in namespace "+hubNamespace)
	require.NoError(c.t, accounts.Delete(ctx, "work-controller-sa", metav1.DeleteOptions{}))
	results, _ := c.run()
	require.NotContains(c.t, results, "one-hub")
	c.says(1, "hub-rights", "fail", ":work-rollback can't get controllerrevisions, list controllerrevisions")
	require.NoError(c.t, accounts.Delete(ctx, "work-rollback", metav1.DeleteOptions{}))
}

// withoutLeaderElection deletes the Lease: only the processed specs show that the hub runs, without leader election.
func (c *checkup) withoutLeaderElection(f *fleet) {
	c.t.Helper()
	ctx, leases := c.t.Context(), c.w.kube.CoordinationV1().Leases(hubNamespace)
	lease, err := leases.Get(ctx, "work-manager-lock", metav1.GetOptions{})
	require.NoError(c.t, err)
	require.NoError(c.t, leases.Delete(ctx, lease.Name, metav1.DeleteOptions{}))
	c.says(1, "leader", "fail", "no work controller has led in namespace "+hubNamespace)
	f.editStatus(func(status *workv1alpha1.ManifestWorkReplicaSetStatus) {
		status.ObservedGeneration = f.get().Generation
	})
	c.says(1, "leader", "warn", "it runs, or ran, without leader election")
	c.show("a hub without leader election, and a rollout in progress")
	_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: lease.Name}, Spec: lease.Spec}, metav1.CreateOptions{})
	require.NoError(c.t, err)
}
