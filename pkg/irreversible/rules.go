package irreversible

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	workv1 "open-cluster-management.io/api/work/v1"
)

// The kinds of the rules, with their groups.
const (
	configMap   = "ConfigMap"
	secret      = "Secret"
	service     = "Service"
	claim       = "PersistentVolumeClaim"
	job         = "Job.batch"
	statefulSet = "StatefulSet.apps"
	definition  = "CustomResourceDefinition.apiextensions.k8s.io"
)

// lost describes, for each kind, the data that is lost when an object is deleted.
var lost = map[string]string{
	"Namespace": "deletes %s with all objects in it",
	claim:       "deletes %s with its data, unless the reclaim policy of the volume is Retain",
	definition:  "deletes %s with all its custom resources",
}

// fixed lists the fields that can't be changed while the object exists.
var fixed = []struct {
	kinds, fields []string
	// applies reports whether the rule applies to a change; nil means every change.
	applies func(from, to *object) bool
}{
	{kinds: []string{"Deployment.apps", "DaemonSet.apps", "ReplicaSet.apps", statefulSet}, fields: []string{"spec.selector"}},
	{kinds: []string{statefulSet}, fields: []string{"spec.volumeClaimTemplates", "spec.serviceName", "spec.podManagementPolicy"}},
	{kinds: []string{job}, fields: []string{"spec.selector", "spec.completionMode"}},
	{kinds: []string{job}, fields: []string{"spec.template"}, applies: runs},
	{kinds: []string{service}, fields: []string{"spec.clusterIP"}, applies: asksForAddress},
	{kinds: []string{configMap, secret}, fields: []string{"immutable", "data", "binaryData", "stringData"}, applies: immutable},
	{kinds: []string{secret}, fields: []string{"type"}},
	{kinds: []string{claim}, fields: []string{
		"spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeMode", "spec.volumeName",
	}},
	{kinds: []string{"RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io"}, fields: []string{"roleRef"}},
	{kinds: []string{definition}, fields: []string{"spec.scope", "spec.names.kind"}},
}

// defaults are the values that an API server sets if a manifest does not set a field. If the value is nil, the API server computes it, so
// a manifest without the field changes nothing.
var defaults = map[string]any{
	"type":                     "Opaque",
	"spec.podManagementPolicy": "OrderedReady",
	"spec.completionMode":      "NonIndexed",
	"spec.volumeMode":          "Filesystem",
	"spec.storageClassName":    nil,
	"spec.volumeName":          nil,
	"spec.selector":            nil,
}

// runs reports whether a Job is not suspended. Parts of a suspended Job's template can be changed.
func runs(from, _ *object) bool {
	suspended, _, _ := unstructured.NestedBool(from.Object, "spec", "suspend")
	return !suspended
}

// immutable reports whether a ConfigMap or Secret is marked as immutable.
func immutable(from, _ *object) bool { return from.Object["immutable"] == true }

// asksForAddress reports whether a Service that has an address requests a specific address, which can't be the address that the API server
// chose.
func asksForAddress(from, to *object) bool {
	return from.text("spec.type") != "ExternalName" && to.text("spec.type") != "ExternalName" && to.text("spec.clusterIP") != ""
}

func (o *object) kind() string { return o.GroupVersionKind().GroupKind().String() }

func (o *object) value(path string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, strings.Split(path, ".")...)
	return value
}

func (o *object) text(path string) string {
	text, _ := o.value(path).(string)
	return text
}

func (o *object) deleted() []Finding {
	finding := Finding{Object: o.String(), Consequence: Lost, Manifest: o.index}
	switch format := lost[o.kind()]; {
	case format != "":
		finding.Effect = fmt.Sprintf(format, o)
	case o.kind() != statefulSet:
		return nil
	case o.text("spec.persistentVolumeClaimRetentionPolicy.whenDeleted") == "Delete":
		finding.Effect = fmt.Sprintf("deletes %s with its volume claims and their data", o)
	default:
		finding.Consequence, finding.Effect = Interrupted, fmt.Sprintf("deletes %s and its Pods; its volume claims stay", o)
	}
	return []Finding{finding}
}

func (o *object) changed(to *object, by workv1.UpdateStrategyType) []Finding {
	if by == workv1.UpdateStrategyTypeCreateOnly || by == workv1.UpdateStrategyTypeReadOnly {
		return nil
	}
	var fields []string
	for _, rule := range fixed {
		if !slices.Contains(rule.kinds, o.kind()) || rule.applies != nil && !rule.applies(o, to) {
			continue
		}
		for _, path := range rule.fields {
			if differ(o.value(path), to.value(path), path) {
				fields = append(fields, path)
			}
		}
	}
	var found []Finding
	if len(fields) > 0 {
		consequence, then := Rejected, "the API server rejects it"
		if o.kind() == secret && by == workv1.UpdateStrategyTypeUpdate {
			consequence, then = Interrupted, "agents delete the Secret and create it again"
		}
		found = append(found, Finding{
			Object: o.String(), Consequence: consequence, Manifest: to.index,
			Effect: fmt.Sprintf("changes the immutable field %s of %s: %s", strings.Join(fields, ", "), o, then),
		})
	}
	switch o.kind() {
	case claim:
		return append(found, o.shrunk(to)...)
	case definition:
		return append(found, o.narrowed(to)...)
	}
	return found
}

// differ reports whether two values of a field differ for an API server, given its defaults.
func differ(from, to any, path string) bool {
	if value, known := defaults[path]; known {
		if from == nil {
			from = value
		}
		if to == nil {
			to = value
		}
		if from == nil || to == nil {
			return false
		}
	}
	return !equality.Semantic.DeepEqual(from, to)
}

// shrunk finds a PersistentVolumeClaim that requests less storage than before.
func (o *object) shrunk(to *object) []Finding {
	before, errBefore := o.storage()
	after, errAfter := to.storage()
	if errBefore != nil || errAfter != nil || after.Cmp(before) >= 0 {
		return nil
	}
	return []Finding{{Object: o.String(), Consequence: Rejected, Manifest: to.index,
		Effect: fmt.Sprintf("shrinks %s from %s to %s: the API server rejects it", o, &before, &after)}}
}

func (o *object) storage() (resource.Quantity, error) {
	return resource.ParseQuantity(o.text("spec.resources.requests.storage"))
}

// narrowed finds the versions, and the fields of a version, that a CustomResourceDefinition no longer has.
func (o *object) narrowed(to *object) []Finding {
	var found []Finding
	after := to.versions()
	for _, name := range slices.Sorted(maps.Keys(o.versions())) {
		schema, kept := after[name]
		if !kept {
			found = append(found, Finding{Object: o.String(), Consequence: Rejected, Manifest: to.index, Effect: fmt.Sprintf(
				"removes version %s of %s: the API server rejects it if a custom resource was ever stored in this version", name, o)})
			continue
		}
		if fields := gone("", o.versions()[name], schema); len(fields) > 0 {
			found = append(found, Finding{Object: o.String(), Consequence: Lost, Manifest: to.index, Effect: fmt.Sprintf(
				"removes %s from version %s of %s: custom resources lose the values with their next write", shortened(fields), name, o)})
		}
	}
	return found
}

// versions returns the schema of each version.
func (o *object) versions() map[string]map[string]any {
	versions := map[string]map[string]any{}
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	for _, item := range list {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		schema, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		versions[name] = schema
	}
	return versions
}

// gone returns the paths of the fields in a structural schema that the newer schema prunes.
func gone(path string, from, to map[string]any) []string {
	if to["x-kubernetes-preserve-unknown-fields"] == true {
		return nil
	}
	var paths []string
	before, after := child(from, "properties"), child(to, "properties")
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, kept := after[name]; kept {
			paths = append(paths, gone(path+"."+name, child(before, name), child(after, name))...)
		} else if child(to, "additionalProperties") == nil {
			paths = append(paths, strings.TrimPrefix(path+"."+name, "."))
		}
	}
	for _, nested := range []struct{ key, suffix string }{{"items", "[]"}, {"additionalProperties", ".*"}} {
		if older := child(from, nested.key); older != nil {
			paths = append(paths, gone(path+nested.suffix, older, child(to, nested.key))...)
		}
	}
	return paths
}

func child(schema map[string]any, key string) map[string]any {
	value, _ := schema[key].(map[string]any)
	return value
}

// shortened returns the names of the first fields in a list.
func shortened(fields []string) string {
	const most = 3
	if len(fields) <= most {
		return strings.Join(fields, ", ")
	}
	return fmt.Sprintf("%s and %d more fields", strings.Join(fields[:most], ", "), len(fields)-most)
}
