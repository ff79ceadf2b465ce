package webhook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/pkg/irreversible"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// The objects whose fields change.
var changing = map[string]string{
	"Deployment": `{apiVersion: apps/v1, kind: Deployment, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, c: d}},
		spec: {containers: [{name: c, image: i}]}}}}`,
	"StatefulSet": `{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: one, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},
		spec: {containers: [{name: c, image: i}]}}}}`,
	"Job":                   `{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`,
	"Service":               `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}`,
	"ConfigMap":             `{apiVersion: v1, kind: ConfigMap}`,
	"Secret":                `{apiVersion: v1, kind: Secret}`,
	"PersistentVolumeClaim": `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
	"RoleBinding":           `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: one}}`,
	"CustomResourceDefinition": `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: example.com, scope: Namespaced,
		names: {kind: %[1]s, plural: %[1]ss}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
}

// TestRejectedChanges: the API server of a cluster rejects a change if and only if Findings reports it, in both directions.
func TestRejectedChanges(t *testing.T) {
	const claims = `[{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]`
	// The addresses of Services are from the range that the API server allocates last, so that it does not assign them to other Services.
	for name, test := range map[string]struct {
		kind string
		// from and to map the paths of fields to their values. An empty value stands for a missing field.
		from, to      map[string]string
		forward, back bool
	}{
		"selector of a Deployment":     {"Deployment", nil, map[string]string{"spec.selector.matchLabels": "{c: d}"}, true, true},
		"replicas of a Deployment":     {"Deployment", nil, map[string]string{"spec.replicas": "3"}, false, false},
		"selector of a StatefulSet":    {"StatefulSet", nil, map[string]string{"spec.selector.matchLabels": "{a: b, c: d}", "spec.template.metadata.labels": "{a: b, c: d}"}, true, true},
		"claims of a StatefulSet":      {"StatefulSet", nil, map[string]string{"spec.volumeClaimTemplates": claims}, true, true},
		"service of a StatefulSet":     {"StatefulSet", nil, map[string]string{"spec.serviceName": "two"}, true, true},
		"pods of a StatefulSet":        {"StatefulSet", nil, map[string]string{"spec.podManagementPolicy": "Parallel"}, true, true},
		"default of a StatefulSet":     {"StatefulSet", nil, map[string]string{"spec.podManagementPolicy": "OrderedReady"}, false, false},
		"template of a Job":            {"Job", nil, map[string]string{"spec.template.spec.priorityClassName": "p"}, true, true},
		"mode of a Job":                {"Job", nil, map[string]string{"spec.completionMode": "Indexed", "spec.completions": "1"}, true, true},
		"limit of a Job":               {"Job", nil, map[string]string{"spec.backoffLimit": "1"}, false, false},
		"no address of a Service":      {"Service", map[string]string{"spec.clusterIP": "10.0.0.7"}, map[string]string{"spec.clusterIP": "None"}, true, true},
		"another address of a Service": {"Service", map[string]string{"spec.clusterIP": "10.0.0.8"}, map[string]string{"spec.clusterIP": "10.0.0.9"}, true, true},
		"any address of a Service":     {"Service", map[string]string{"spec.clusterIP": "10.0.0.10"}, nil, false, true},
		"data of an immutable map":     {"ConfigMap", map[string]string{"immutable": "true", "data": "{a: b}"}, map[string]string{"immutable": "true", "data": "{a: c}"}, true, true},
		"a map that becomes immutable": {"ConfigMap", map[string]string{"data": "{a: b}"}, map[string]string{"immutable": "true", "data": "{a: c}"}, false, true},
		"data of a map":                {"ConfigMap", map[string]string{"data": "{a: b}"}, map[string]string{"data": "{a: c}"}, false, false},
		"data of an immutable Secret":  {"Secret", map[string]string{"immutable": "true", "data": "{a: Yg==}"}, map[string]string{"immutable": "true", "data": "{a: Yw==}"}, true, true},
		"type of a Secret":             {"Secret", nil, map[string]string{"type": "example.com/token"}, true, true},
		"default type of a Secret":     {"Secret", nil, map[string]string{"type": "Opaque"}, false, false},
		"modes of a claim":             {"PersistentVolumeClaim", nil, map[string]string{"spec.accessModes": "[ReadWriteMany]"}, true, true},
		"class of a claim":             {"PersistentVolumeClaim", map[string]string{"spec.storageClassName": "a"}, map[string]string{"spec.storageClassName": "b"}, true, true},
		"role of a binding":            {"RoleBinding", nil, map[string]string{"roleRef": "{apiGroup: rbac.authorization.k8s.io, kind: Role, name: two}"}, true, true},
		"subjects of a binding":        {"RoleBinding", nil, map[string]string{"subjects": "[{kind: ServiceAccount, name: a, namespace: b}]"}, false, false},
		"scope of a definition":        {"CustomResourceDefinition", nil, map[string]string{"spec.scope": "Cluster"}, true, true},
		"stored version of a definition": {
			"CustomResourceDefinition", nil,
			map[string]string{"spec.versions": "[{name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]"}, true, true,
		},
		"column of a definition": {
			"CustomResourceDefinition", nil, map[string]string{"spec.names.shortNames": "[abc]"}, false, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := changed(t, test.kind, name, test.from), changed(t, test.kind, name, test.to)
			require.Equal(t, test.forward, rejects(t, from, to), "the API server, forward")
			require.Equal(t, test.back, rejects(t, to, from), "the API server, back")
			require.Equal(t, test.forward, foresees(from, to), "forward")
			require.Equal(t, test.back, foresees(to, from), "back")
		})
	}
}

// changed returns an object of a kind with other fields.
func changed(t *testing.T, kind, name string, fields map[string]string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	plural := strings.ToLower(strings.ReplaceAll(name, " ", ""))
	text := strings.ReplaceAll(strings.ReplaceAll(changing[kind], "\n\t\t", " "), "%[1]s", plural)
	require.NoError(t, yaml.Unmarshal([]byte(text), &object.Object))
	object.SetName(strings.ToLower(strings.ReplaceAll(name, " ", "-")))
	switch kind {
	case "CustomResourceDefinition":
		object.SetName(plural + "s.example.com")
	default:
		object.SetNamespace("default")
	}
	for path, value := range fields {
		var parsed any
		data, err := yaml.YAMLToJSON([]byte(value))
		require.NoError(t, err)
		require.NoError(t, utiljson.Unmarshal(data, &parsed))
		require.NoError(t, unstructured.SetNestedField(object.Object, parsed, strings.Split(path, ".")...))
	}
	return object
}

// rejects reports whether the API server rejects a change to an object.
func rejects(t *testing.T, from, to *unstructured.Unstructured) bool {
	client, err := dynamic.NewForConfig(hub.config)
	require.NoError(t, err)
	plural, _ := meta.UnsafeGuessKindToResource(from.GroupVersionKind())
	objects := client.Resource(plural).Namespace(from.GetNamespace())
	apply := func(object *unstructured.Unstructured) error {
		_, err := objects.Apply(t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "agent", Force: true})
		return err
	}
	remove := func() error {
		background := metav1.DeletePropagationBackground
		err := objects.Delete(t.Context(), from.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
		if apierrors.IsNotFound(err) {
			return nil
		}
		// A controller of the cluster would remove the finalizer of a claim.
		_, _ = objects.Patch(t.Context(), from.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		_, gone := objects.Get(t.Context(), from.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(gone) {
			return nil
		}
		return fmt.Errorf("still there: %w", err)
	}
	require.NoError(t, apply(from))
	if from.GetKind() == "CustomResourceDefinition" {
		await.Eventually(t, patience, "the definition is established", func() error {
			live, err := objects.Get(t.Context(), from.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if _, found, _ := unstructured.NestedSlice(live.Object, "status", "storedVersions"); !found || !strings.Contains(fmt.Sprint(live.Object["status"]), "InitialNamesAccepted") {
				return fmt.Errorf("its status is %v", live.Object["status"])
			}
			return nil
		})
	}
	err = apply(to)
	require.True(t, err == nil || apierrors.IsInvalid(err), "%v", err)
	await.Eventually(t, patience, "the object is gone", remove)
	return err != nil
}

// foresees reports whether Findings predicts that a change to an object is rejected. Agents apply the object server-side.
func foresees(from, to *unstructured.Unstructured) bool {
	for _, finding := range irreversible.Findings(templateWith(from), templateWith(to)) {
		if finding.Consequence == irreversible.Rejected {
			return true
		}
	}
	return false
}

// templateWith returns a template with an object that agents apply server-side.
func templateWith(object *unstructured.Unstructured) *workv1.ManifestWorkSpec {
	template := &workv1.ManifestWorkSpec{ManifestConfigs: []workv1.ManifestConfigOption{{UpdateStrategy: &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeServerSideApply}}}}
	plural, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	template.ManifestConfigs[0].ResourceIdentifier = workv1.ResourceIdentifier{
		Group: plural.Group, Resource: plural.Resource, Namespace: object.GetNamespace(), Name: object.GetName(),
	}
	template.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Object: object}}}
	raw, _ := object.MarshalJSON()
	template.Workload.Manifests[0].RawExtension = runtime.RawExtension{Raw: raw}
	return template
}
