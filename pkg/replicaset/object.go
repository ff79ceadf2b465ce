package replicaset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Object is a ManifestWorkReplicaSet as far as it can be decoded. Upstream's CRD accepts values that the types can't hold. With a typed
// informer, one such object would hide all other objects of the hub.
type Object struct {
	*workv1alpha1.ManifestWorkReplicaSet
	// DecodeErr names the fields that can't be decoded; nil for none. The spec lacks these fields. Metadata and status
	// hold the data that could be read.
	DecodeErr error
	// PlacementsKnown is true if the spec has the names of all Placements.
	PlacementsKnown bool
}

// Decode returns an object with all data that can be decoded.
func Decode(u *unstructured.Unstructured) *Object {
	out := &Object{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{}, PlacementsKnown: true}
	if out.DecodeErr = convert(u.Object, out.ManifestWorkReplicaSet); out.DecodeErr == nil {
		return out
	}
	readable := map[string]any{}
	for _, key := range []string{"apiVersion", "kind", "metadata", "status"} {
		if value, ok := u.Object[key]; ok {
			readable[key] = value
		}
	}
	out.ManifestWorkReplicaSet = &workv1alpha1.ManifestWorkReplicaSet{}
	if convert(readable, out.ManifestWorkReplicaSet) != nil {
		delete(readable, "status")
		out.ManifestWorkReplicaSet = &workv1alpha1.ManifestWorkReplicaSet{}
		if err := convert(readable, out.ManifestWorkReplicaSet); err != nil {
			out.Name, out.Namespace = u.GetName(), u.GetNamespace()
			out.UID, out.ResourceVersion, out.Generation = u.GetUID(), u.GetResourceVersion(), u.GetGeneration()
		}
	}
	out.readSpec(u)
	return out
}

// readSpec sets the fields of the spec that can be read, and names those that can't.
func (r *Object) readSpec(u *unstructured.Unstructured) {
	kept, _, unreadable := readable(u.Object, "", func(object any) any { return object })
	errs := make([]error, 0, len(unreadable))
	for _, field := range unreadable {
		errs = append(errs, field)
		r.PlacementsKnown = r.PlacementsKnown && !field.hidesPlacements()
	}
	r.DecodeErr = utilerrors.NewAggregate(errs)
	object, _ := kept.(map[string]any)
	read := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := convert(map[string]any{"spec": object["spec"]}, read); err != nil {
		r.PlacementsKnown = false
		return
	}
	r.Spec = read.Spec
}

var convert = runtime.DefaultUnstructuredConverter.FromUnstructured

// unreadableField is a field that the types can't hold.
type unreadableField struct {
	path string
	err  error
}

// Error implements error.
func (f unreadableField) Error() string { return fmt.Sprintf("%s: %v", f.path, f.err) }

// hidesPlacements reports whether the Placements are unknown without the field.
func (f unreadableField) hidesPlacements() bool {
	if refs, ok := strings.CutPrefix(f.path, "spec.placementRefs"); ok {
		return !strings.Contains(refs, "].rolloutStrategy")
	}
	return f.path == "" || f.path == "spec"
}

// readable returns a value without the fields that the types can't hold, and the names of these fields. It tries each
// field alone; within places the field in an object. A list must not lose an element, because the others would move up.
// So if an element can't be held at all, ok is false for the list too.
func readable(value any, at string, within func(any) any) (kept any, ok bool, unreadable []unreadableField) {
	err := convert(within(value).(map[string]any), &workv1alpha1.ManifestWorkReplicaSet{})
	if err == nil {
		return value, true, nil
	}
	ok = true
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inside := func(child any) any { return within(map[string]any{key: child}) }
			child, held, found := readable(v[key], strings.TrimPrefix(at+"."+key, "."), inside)
			if held {
				out[key] = child
			}
			unreadable = append(unreadable, found...)
		}
		kept = out
	case []any:
		out := make([]any, 0, len(v))
		for i := range v {
			child, held, found := readable(v[i], fmt.Sprintf("%s[%d]", at, i), func(child any) any { return within([]any{child}) })
			ok = ok && held
			out = append(out, child)
			unreadable = append(unreadable, found...)
		}
		kept = out
	}
	if len(unreadable) == 0 {
		return nil, false, []unreadableField{{path: at, err: err}}
	}
	return kept, ok, unreadable
}
