package validate

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/apis/work/v1/validator"

	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
)

// manifestProblems returns the problems for which OCM rejects every ManifestWork: an empty list, more bytes in total than the limit, a
// manifest that is not a Kubernetes object with a name, and a duplicate object. It checks the size first, and does not read manifests that
// are too large.
func manifestProblems(path *field.Path, manifests []workv1.Manifest, limits Limits, name nameOf) []problem {
	if len(manifests) == 0 {
		return []problem{inField(rule.NoManifests.Error(path))}
	}
	if err := sizeError(path, manifests, limits); err != nil {
		return []problem{inManifests(manifests, err)}
	}
	return append(unusable(path, manifests), duplicates(path, manifests, name)...)
}

// manifestProblemsBefore returns the same problems of an older version of an object. Unlike manifestProblems, it also
// reads manifests that are too large, because their other problems are old problems too.
func manifestProblemsBefore(path *field.Path, manifests []workv1.Manifest, limits Limits, name nameOf) []problem {
	problems := manifestProblems(path, manifests, limits, name)
	if sizeError(path, manifests, limits) != nil {
		limits.ManifestBytes = math.MaxInt
		problems = append(problems, manifestProblems(path, manifests, limits, name)...)
	}
	return problems
}

// sizeError returns the error of OCM's SDK validator for manifests that are too large. It checks the size before it
// reads any of them.
func sizeError(path *field.Path, manifests []workv1.Manifest, limits Limits) *field.Error {
	size := 0
	for i := range manifests {
		size += manifests[i].Size()
	}
	if size <= limits.ManifestBytes {
		return nil
	}
	v := &validator.Validator{}
	v.WithLimit(limits.ManifestBytes)
	return rule.TooLarge.Error(path, v.ValidateManifests(manifests))
}

// unusable returns a problem for each manifest that OCM's SDK validator rejects.
func unusable(path *field.Path, manifests []workv1.Manifest) []problem {
	var problems []problem
	v := &validator.Validator{}
	v.WithLimit(math.MaxInt)
	for i := range manifests {
		one := manifests[i : i+1]
		if err := v.ValidateManifests(one); err != nil {
			problems = append(problems, inManifests(one, invalid(path.Index(i), shorten(err.Error()))))
		}
	}
	return problems
}

// nameOf returns the identity of a manifest.
type nameOf func(object *unstructured.Unstructured) string

// onCluster returns the identity of an object on a cluster: its group, kind, namespace and name. The version is not
// part of it.
func onCluster(object *unstructured.Unstructured) string {
	kind := object.GetKind()
	if group, _, hasGroup := strings.Cut(object.GetAPIVersion(), "/"); hasGroup {
		kind += "." + group
	}
	return kind + " " + qualified(object)
}

// withVersion returns the identity of an object together with its API version. ManifestWorks may contain an object in
// two versions, because an abort must be able to restore revisions from before the check of onCluster.
func withVersion(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s %s", object.GetAPIVersion(), object.GetKind(), qualified(object))
}

func qualified(object *unstructured.Unstructured) string {
	return strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
}

// duplicates returns the problems with objects that are listed more than once. An agent would apply them alternately,
// forever.
func duplicates(path *field.Path, manifests []workv1.Manifest, nameOf nameOf) []problem {
	var problems []problem
	seen := map[string]int{}
	for i := range manifests {
		object := &unstructured.Unstructured{}
		if object.UnmarshalJSON(manifests[i].Raw) != nil || object.GetName() == "" {
			continue // An unusable manifest has no name to identify it.
		}
		name := nameOf(object)
		if first, again := seen[name]; again {
			problems = append(problems, named(name, rule.Twice.Error(path.Index(i), shorten(name), path.Index(first))))
		} else {
			seen[name] = i
		}
	}
	return problems
}

// inManifests returns a problem of manifests, regardless of their position in the list.
func inManifests(manifests []workv1.Manifest, err *field.Error) problem {
	return problem{Error: err, key: func() string { return keyOf(content(manifests), err) }}
}

// content returns manifests in a form that does not depend on the order of keys or on whitespace.
func content(manifests []workv1.Manifest) string {
	var out []byte
	for i := range manifests {
		raw := manifests[i].Raw
		var value any
		if utiljson.Unmarshal(raw, &value) == nil { // Integers stay exact.
			raw, _ = json.Marshal(value)
		}
		out = append(append(out, raw...), '\n')
	}
	return string(out)
}
