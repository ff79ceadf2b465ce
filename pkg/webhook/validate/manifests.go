package validate

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/apis/work/v1/validator"
)

// manifestProblems finds what OCM accepts in no ManifestWork: no manifest at all, one that is no Kubernetes object with a name,
// the same object twice, and more than limit bytes in all.
func manifestProblems(path *field.Path, manifests []workv1.Manifest, limit int) []problem {
	if len(manifests) == 0 {
		return []problem{inField(field.Required(path, "manifests should not be empty: name at least one object to apply"))}
	}
	problems := append(unusable(path, manifests), duplicates(path, manifests)...)
	if len(problems) > 0 {
		return problems
	}
	if err := check(manifests, limit); err != nil {
		return []problem{at(content(manifests), invalid(path,
			fmt.Sprintf("%v: put some of them into another object, or raise --manifestLimit of the webhook", err)))}
	}
	return nil
}

// unusable finds the manifests that the validator of OCM's SDK refuses, each by itself.
func unusable(path *field.Path, manifests []workv1.Manifest) []problem {
	var problems []problem
	for i := range manifests {
		one := manifests[i : i+1]
		if err := check(one, math.MaxInt); err != nil {
			problems = append(problems, at(content(one), invalid(path.Index(i), shorten(err.Error()))))
		}
	}
	return problems
}

func check(manifests []workv1.Manifest, limit int) error {
	v := &validator.Validator{}
	v.WithLimit(limit)
	return v.ValidateManifests(manifests)
}

// duplicates finds objects that stand in a list more than once: an agent would apply the one and then the other, for ever.
func duplicates(path *field.Path, manifests []workv1.Manifest) []problem {
	var problems []problem
	seen := map[string]int{}
	for i := range manifests {
		object := &unstructured.Unstructured{}
		if object.UnmarshalJSON(manifests[i].Raw) != nil || object.GetName() == "" {
			continue // It is unusable, and has no name to tell it by.
		}
		name := strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
		name = fmt.Sprintf("%s %s %s", object.GetAPIVersion(), object.GetKind(), name)
		if first, again := seen[name]; again {
			problems = append(problems, problem{
				Error: invalid(path.Index(i), fmt.Sprintf("duplicate manifest: %s is %s already, remove one of the two", name, path.Index(first))),
				key:   name,
			})
		} else {
			seen[name] = i
		}
	}
	return problems
}

// content is what manifests hold, whatever the order of keys and the spaces between them.
func content(manifests []workv1.Manifest) string {
	var out []byte
	for i := range manifests {
		raw := manifests[i].Raw
		var value any
		if json.Unmarshal(raw, &value) == nil {
			raw, _ = json.Marshal(value)
		}
		out = append(append(out, raw...), '\n')
	}
	return string(out)
}
