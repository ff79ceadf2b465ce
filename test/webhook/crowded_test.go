package webhook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestCrowdedObjectsStayWritable: an object that an older CRD stored with more placementRefs than this CRD allows can be labelled, edited
// elsewhere, given a status, and deleted with its finalizers. Only its placementRefs can't be replaced with as many others. No other test
// runs at the same time.
func TestCrowdedObjectsStayWritable(t *testing.T) {
	c := as(t, hub.config, namespace(t, nobody))
	dry := as(t, hub.config, c.namespace)
	dry.dryRun = []string{metav1.DryRunAll}
	refs := make([]string, workv1alpha1.MaxPlacementRefs+1)
	for i := range refs {
		refs[i] = fmt.Sprintf("  - name: p%d", i)
	}
	crowded := replicaSet(t)
	edit(crowded, parse(t, "{apiVersion: v1, kind: List, refs: [\n"+strings.ReplaceAll(strings.Join(refs, ",\n"), "- name: ", "name: ")+"]}").Object["refs"], "spec", "placementRefs")
	crowded.SetName("crowded")
	crowded.SetFinalizers([]string{workv1alpha1.Finalizer})

	_, err := c.create(replicaSetResource, crowded)
	require.ErrorContains(t, err, "spec.placementRefs: Too many: 65: must have at most 64 items")
	c.createWithout("placementRefs/maxItems", workv1alpha1.MaxPlacementRefs, crowded)
	c.staysWritable(dry, "crowded", "spec: {revisionHistoryLimit: 7}",
		"spec: {placementRefs: ["+strings.Repeat("{name: q}, ", workv1alpha1.MaxPlacementRefs)+"{name: q}]}", "spec: {placementRefs: [{name: p0}]}")
}

// staysWritable checks that an object that exceeds a bound accepts every update, except a change to the field that still exceeds the bound,
// and can be deleted.
func (c *client) staysWritable(dry *client, name, other, over, within string) {
	c.t.Helper()
	require.NoError(c.t, c.patch(replicaSetResource, name, "metadata: {labels: {a: b}}"))
	require.NoError(c.t, c.patch(replicaSetResource, name, other))
	_, err := c.dynamic.Resource(replicaSetResource).Namespace(c.namespace).Patch(c.t.Context(), name, types.MergePatchType,
		[]byte(`{"status":{"updateRevision":"aaa","abortedTime":"2026-01-02T03:04:05Z"}}`), metav1.PatchOptions{}, "status")
	require.NoError(c.t, err)
	require.Error(c.t, dry.patch(replicaSetResource, name, over))
	require.NoError(c.t, dry.patch(replicaSetResource, name, within))
	require.NoError(c.t, c.delete(replicaSetResource, name))
	require.NoError(c.t, c.patch(replicaSetResource, name, "metadata: {finalizers: []}"))
}

// TestLongHistoriesStayWritable: the same for an object that an older CRD stored with a larger revisionHistoryLimit. The limit can only be
// lowered to an allowed value.
func TestLongHistoriesStayWritable(t *testing.T) {
	c := as(t, hub.config, namespace(t, nobody))
	dry := as(t, hub.config, c.namespace)
	dry.dryRun = []string{metav1.DryRunAll}
	long := replicaSet(t)
	edit(long, int64(500), "spec", "revisionHistoryLimit")
	long.SetName("long")
	long.SetFinalizers([]string{workv1alpha1.Finalizer})

	_, err := c.create(replicaSetResource, long)
	require.ErrorContains(t, err, "spec.revisionHistoryLimit: Invalid value: 500: spec.revisionHistoryLimit in body should be less than or equal to 100")
	c.createWithout("revisionHistoryLimit/maximum", workv1alpha1.MaxRevisionHistoryLimit, long)
	c.staysWritable(dry, "long", "spec: {cascadeDeletionPolicy: Foreground}", "spec: {revisionHistoryLimit: 101}", "spec: {revisionHistoryLimit: 100}")
}

// createWithout creates an object while the CRD does not have a bound, and leaves the bound in force.
func (c *client) createWithout(bound string, value int, object *unstructured.Unstructured) {
	t := c.t
	t.Helper()
	dry := as(t, hub.config, c.namespace)
	dry.dryRun = []string{metav1.DryRunAll}
	limit := func(operation string) {
		crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
		patch := fmt.Sprintf(`[{"op":%q,"path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/%s","value":%d}]`, operation, bound, value)
		_, err := c.dynamic.Resource(crds).Patch(t.Context(), "manifestworkreplicasets.work.open-cluster-management.io", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	limit("remove")
	eventually(t, "the API server accepts the object", func() error {
		_, err := c.create(replicaSetResource, object)
		return err
	})
	limit("add")
	eventually(t, "the API server rejects another object", func() error {
		other := object.DeepCopy()
		other.SetName("other")
		if _, err := dry.create(replicaSetResource, other); err != nil {
			return nil
		}
		return fmt.Errorf("the API server accepts it")
	})
}
