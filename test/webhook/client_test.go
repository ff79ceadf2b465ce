package webhook

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

var (
	workResource       = schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}
	replicaSetResource = workv1alpha1.ManifestWorkReplicaSetResource
)

const workText = `
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: web}
spec:
  workload:
    manifests:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
`

const replicaSetText = `
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {name: web}
spec:
  placementRefs:
  - name: all
    rolloutStrategy:
      type: Progressive
      progressive: {maxConcurrency: 1, maxFailures: 10%, progressDeadline: 10m, minSuccessTime: 30s}
  manifestWorkTemplate:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
`

// namespace creates a namespace that a server checks, and waits until the API server calls that server for it.
func namespace(t *testing.T, server string) string {
	t.Helper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-", Labels: map[string]string{lookedAtBy: server}}}
	created, err := hub.kube.CoreV1().Namespaces().Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	if server != nobody {
		waitForServer(t, created.Name)
	}
	return created.Name
}

// waitForServer waits until both webhooks respond for a namespace: configurations and labels reach admission by watches.
func waitForServer(t *testing.T, namespace string) {
	t.Helper()
	dry := as(t, hub.config, namespace)
	dry.dryRun = []string{metav1.DryRunAll}
	for resource, text := range map[schema.GroupVersionResource]string{workResource: workText, replicaSetResource: replicaSetText} {
		object := parse(t, text)
		object.SetName("probe")
		edit(object, nil, manifestsPath(resource)...)
		eventually(t, "the webhook of "+resource.Resource+" answers", func() error {
			if _, err := dry.create(resource, object); err == nil || !strings.Contains(err.Error(), "manifests should not be empty") {
				return fmt.Errorf("for an object without manifests the answer is %w", err)
			}
			return nil
		})
	}
}

func manifestsPath(resource schema.GroupVersionResource) []string {
	if resource == workResource {
		return []string{"spec", "workload", "manifests"}
	}
	return []string{"spec", "manifestWorkTemplate", "workload", "manifests"}
}

// client is a user in a namespace who reads the warnings.
type client struct {
	t         *testing.T
	dynamic   dynamic.Interface
	namespace string
	dryRun    []string

	mu       sync.Mutex
	warnings []string
}

func as(t *testing.T, config *rest.Config, namespace string) *client {
	t.Helper()
	c := &client{t: t, namespace: namespace}
	config = rest.CopyConfig(config)
	config.WarningHandler = c
	var err error
	c.dynamic, err = dynamic.NewForConfig(config)
	require.NoError(t, err)
	return c
}

// HandleWarningHeader implements rest.WarningHandler.
func (c *client) HandleWarningHeader(_ int, _ string, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warnings = append(c.warnings, text)
}

// warned returns the warnings since its last call.
func (c *client) warned() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.warnings = nil }()
	return slices.Clone(c.warnings)
}

func (c *client) create(resource schema.GroupVersionResource, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.dynamic.Resource(resource).Namespace(c.namespace).Create(c.t.Context(), object, metav1.CreateOptions{DryRun: c.dryRun})
}

// patch merges a YAML text into an object.
func (c *client) patch(resource schema.GroupVersionResource, name, text string) error {
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(c.t, err)
	_, err = c.dynamic.Resource(resource).Namespace(c.namespace).Patch(c.t.Context(), name, types.MergePatchType, data, metav1.PatchOptions{DryRun: c.dryRun})
	return err
}

func (c *client) delete(resource schema.GroupVersionResource, name string) error {
	return c.dynamic.Resource(resource).Namespace(c.namespace).Delete(c.t.Context(), name, metav1.DeleteOptions{})
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	object := &unstructured.Unstructured{}
	require.NoError(t, object.UnmarshalJSON(data))
	return object
}

// edit sets the value at a path. Nil removes the value.
func edit(object *unstructured.Unstructured, value any, path ...string) {
	if value == nil {
		unstructured.RemoveNestedField(object.Object, path...)
		return
	}
	if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
		panic(err)
	}
}

// replicaSet returns the valid object with replaced texts: pairs of old and new.
func replicaSet(t *testing.T, replacements ...string) *unstructured.Unstructured {
	t.Helper()
	for i := 0; i < len(replacements); i += 2 {
		require.Contains(t, replicaSetText, replacements[i])
	}
	return parse(t, strings.NewReplacer(replacements...).Replace(replicaSetText))
}
