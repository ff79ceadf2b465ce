package webhook

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy"
	"github.com/open-cluster-management-io/work-rollback/internal/ruletest"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/policy"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/validate"
)

// Namespaces with this label have the policies of deploy/base.
const (
	checkedBy = "policies"
	deployed  = "deployed"
)

// applyPolicies applies the policies of deploy/base. Their bindings apply to the namespaces with the label.
func applyPolicies(ctx context.Context) error {
	objects, err := deploy.RenderBase()
	if err != nil {
		return err
	}
	var wanted []*unstructured.Unstructured
	for _, object := range objects {
		switch object.GetKind() {
		case "ValidatingAdmissionPolicyBinding":
			selector := map[string]any{"matchLabels": map[string]any{checkedBy: deployed}}
			if err := unstructured.SetNestedMap(object.Object, selector, "spec", "matchResources", "namespaceSelector"); err != nil {
				return err
			}
			wanted = append(wanted, object)
		case "ValidatingAdmissionPolicy", "ClusterRole", "ClusterRoleBinding":
			wanted = append(wanted, object)
		}
	}
	return sandbox.Apply(ctx, hub.config, wanted...)
}

// checkedNamespace creates a namespace with the policies and with the webhook of a server, and waits until both respond there.
func checkedNamespace(t *testing.T, server string) string {
	t.Helper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Labels: map[string]string{lookedAtBy: nobody, checkedBy: deployed}}}
	created, err := hub.kube.CoreV1().Namespaces().Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	dry := as(t, hub.config, created.Name)
	dry.dryRun = []string{metav1.DryRunAll}
	eventually(t, "the policies answer", func() error {
		_, err := dry.create(replicaSetResource, replicaSet(t, "progressDeadline: 10m", "progressDeadline: 0s"))
		if err == nil || !strings.Contains(err.Error(), policy.RefusalsName) {
			return fmt.Errorf("for a bad object the answer is %w", err)
		}
		dry.warned()
		_, err = dry.create(replicaSetResource, replicaSet(t, "maxFailures: 10%", "maxFailures: 100%"))
		if warnings := dry.warned(); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], policy.WarningsName) {
			return fmt.Errorf("for a surprising object the answer is %w, %v", err, warnings)
		}
		return nil
	})
	if server != nobody {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, lookedAtBy, server)
		_, err := hub.kube.CoreV1().Namespaces().Patch(t.Context(), created.Name, "application/merge-patch+json", patch, metav1.PatchOptions{})
		require.NoError(t, err)
		// The policies report most findings first: only the webhook reports this one.
		eventually(t, "the webhook answers", func() error {
			_, err := dry.create(replicaSetResource, replicaSet(t, "name: a, ", "name: a, annotations: {a: "+strings.Repeat("x", 30000)+"}, "))
			if err == nil || !strings.Contains(err.Error(), "which exceeds the 20000 limit") {
				return fmt.Errorf("for a large object the answer is %w", err)
			}
			return nil
		})
	}
	return created.Name
}

// A rule has the same text whether the policy or the webhook reports it.
func TestOneRuleHasOneText(t *testing.T) {
	t.Parallel()
	for mode, namespace := range map[string]string{
		"policies": checkedNamespace(t, nobody), "webhook": namespace(t, usual), "both": checkedNamespace(t, usual),
	} {
		t.Run(mode, func(t *testing.T) {
			for _, sample := range ruletest.Refused() {
				if sample.Schema || mode == "webhook" && sample.Rule == &rule.TooManyConfigs { // That object is too large for these servers.
					continue
				}
				t.Run(sample.Name, func(t *testing.T) { refuses(t, mode, namespace, sample) })
			}
			for _, sample := range ruletest.Warned() {
				t.Run(sample.Name, func(t *testing.T) { warns(t, mode, namespace, sample) })
			}
		})
	}
}

// texts returns the texts of package validate about a sample.
func texts(t *testing.T, object, old *unstructured.Unstructured) (refusals, warnings []string) {
	t.Helper()
	verdict := validate.ReplicaSet(old, object, validate.Limits{ManifestBytes: 500 * 1024})
	for _, err := range verdict.Errors {
		refusals = append(refusals, err.Error())
	}
	return refusals, verdict.Warnings
}

func refuses(t *testing.T, mode, namespace string, sample ruletest.Sample) {
	t.Helper()
	c := as(t, hub.config, namespace)
	object := ruletest.Build(t, append(sample.New, ruletest.Set("metadata.namespace", namespace))...)
	if sample.Rule == &rule.LongName {
		object.SetName(strings.Repeat("n", 60))
	}
	want, _ := texts(t, object, nil)
	require.Len(t, want, 1)
	_, err := c.create(replicaSetResource, object)
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	require.ErrorContains(t, err, want[0])
	require.Equal(t, mode != "webhook", strings.Contains(err.Error(), policy.RefusalsName), "%v", err)
}

func warns(t *testing.T, mode, namespace string, sample ruletest.Sample) {
	t.Helper()
	c := as(t, hub.config, namespace)
	object := ruletest.Build(t, append(sample.New, ruletest.Set("metadata.namespace", namespace), ruletest.Set("metadata.name", ""),
		ruletest.Set("metadata.generateName", "w-"))...)
	if sample.Old != nil {
		old := ruletest.Build(t, append(sample.Old, ruletest.Set("metadata.namespace", namespace), ruletest.Set("metadata.name", ""),
			ruletest.Set("metadata.generateName", "w-"))...)
		created, err := c.create(replicaSetResource, old)
		require.NoError(t, err)
		created.Object["status"] = old.Object["status"]
		_, err = c.dynamic.Resource(replicaSetResource).Namespace(namespace).UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.Empty(t, c.warned())
		require.NoError(t, c.patch(replicaSetResource, created.GetName(), "spec: {paused: true}"))
		said(t, c, mode, object, old)
		return
	}
	_, err := c.create(replicaSetResource, object)
	require.NoError(t, err)
	said(t, c, mode, object, nil)
}

// said compares the warnings: the policy and the webhook use the same text.
func said(t *testing.T, c *client, mode string, object, old *unstructured.Unstructured) {
	t.Helper()
	_, want := texts(t, object, old)
	require.Len(t, want, 1)
	warnings := c.warned()
	require.Len(t, warnings, map[string]int{"policies": 1, "webhook": 1, "both": 2}[mode], "%v", warnings)
	for _, warning := range warnings {
		require.Contains(t, warning, want[0])
	}
}

// The objects on the pages are admitted without a warning, and so is every object of upstream's CRD that the webhook admits.
func TestGoodObjectsPass(t *testing.T) {
	t.Parallel()
	namespace := checkedNamespace(t, usual)
	judged := 0
	for _, pattern := range []string{"../../docs/examples/*.yaml", "../../deploy/crds/testdata/accepted/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			for i, object := range replicaSetsIn(t, file) {
				t.Run(fmt.Sprintf("%s/%d", filepath.Base(file), i), func(t *testing.T) {
					judged++
					c := as(t, hub.config, namespace)
					c.dryRun = []string{metav1.DryRunAll}
					object.SetNamespace(namespace)
					want, _ := texts(t, object, nil)
					_, err := c.create(replicaSetResource, object)
					require.Equal(t, len(want) == 0, err == nil, "%v, %v", want, err)
					if strings.Contains(pattern, "docs") {
						require.NoError(t, err)
						require.Empty(t, c.warned())
					}
				})
			}
		}
	}
	require.Greater(t, judged, 8)
}

func replicaSetsIn(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, document := range strings.Split(read(t, file), "\n---\n") {
		var content map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(document), &content))
		if content["kind"] != "ManifestWorkReplicaSet" {
			continue
		}
		object := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(document))
		require.NoError(t, err)
		require.NoError(t, object.UnmarshalJSON(data))
		out = append(out, object)
	}
	return out
}

// An object that was stored before the policies can be labelled, changed elsewhere, given a finalizer, corrected and deleted.
func TestPoliciesStandInNobodysWay(t *testing.T) {
	t.Parallel()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Labels: map[string]string{lookedAtBy: nobody}}}
	created, err := hub.kube.CoreV1().Namespaces().Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	c := as(t, hub.config, created.Name)
	bad := replicaSet(t, "progressDeadline: 10m", "progressDeadline: 0s", "minSuccessTime: 30s", "minSuccessTime: 5 minutes", "  - name: all", "  - name: all\n  - name: all",
		"name: a, namespace: default", "namespace: default")
	bad.SetFinalizers([]string{"example.com/hub"})
	_, err = c.create(replicaSetResource, bad)
	require.NoError(t, err)
	_, err = hub.kube.CoreV1().Namespaces().Patch(t.Context(), created.Name, "application/merge-patch+json",
		fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, checkedBy, deployed), metav1.PatchOptions{})
	require.NoError(t, err)
	probe := as(t, hub.config, created.Name)
	probe.dryRun = []string{metav1.DryRunAll}
	eventually(t, "the policies answer", func() error {
		other := bad.DeepCopy()
		other.SetName("probe")
		if _, err := probe.create(replicaSetResource, other); err == nil {
			return fmt.Errorf("an invalid object is stored")
		}
		return nil
	})

	require.NoError(t, c.patch(replicaSetResource, "web", "metadata: {labels: {a: b}}"))
	require.NoError(t, c.patch(replicaSetResource, "web", "spec: {revisionHistoryLimit: 7}"))
	require.NoError(t, c.patch(replicaSetResource, "web", "metadata: {finalizers: [example.com/hub, example.com/other]}"))
	err = c.patch(replicaSetResource, "web", "spec: {manifestWorkTemplate: {workload: {manifests: []}}}")
	require.ErrorContains(t, err, "manifests should not be empty")
	require.NoError(t, c.delete(replicaSetResource, "web"))
	require.NoError(t, c.patch(replicaSetResource, "web", "metadata: {finalizers: []}"))
	_, err = c.dynamic.Resource(replicaSetResource).Namespace(created.Name).Get(t.Context(), "web", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}
