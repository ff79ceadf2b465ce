package revision

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	workv1 "open-cluster-management.io/api/work/v1"
)

// BuiltInGroups are the API groups with a dot in their name whose kinds Kubernetes itself defines.
var BuiltInGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "certificates.k8s.io", "coordination.k8s.io",
	"discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io",
	"resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
}

// BuiltIn reports whether Kubernetes itself defines the kinds of a group, so that the resource of a kind is its regular plural. The group
// of a CustomResourceDefinition has a dot, and its resource may have any name.
func BuiltIn(group string) bool {
	return !strings.Contains(group, ".") || slices.Contains(BuiltInGroups, group)
}

// Identify returns the kind of a manifest's object, and the identifier that manifestConfigs use for the object. The resource is derived
// from the kind, because the hub can't ask the clusters: outside the built-in groups, it is a guess.
func Identify(manifest *workv1.Manifest) (kind schema.GroupKind, id workv1.ResourceIdentifier, err error) {
	var object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := utiljson.Unmarshal(manifest.Raw, &object); err != nil {
		return kind, id, err
	}
	of := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind)
	plural, _ := meta.UnsafeGuessKindToResource(of)
	id = workv1.ResourceIdentifier{
		Group: of.Group, Resource: plural.Resource, Namespace: object.Metadata.Namespace, Name: object.Metadata.Name,
	}
	return of.GroupKind(), id, nil
}

// Targets returns the identifiers of the manifests. It returns false if a manifest can't be read.
func Targets(manifests []workv1.Manifest) (targets []workv1.ResourceIdentifier, readable bool) {
	targets = make([]workv1.ResourceIdentifier, 0, len(manifests))
	for i := range manifests {
		_, id, err := Identify(&manifests[i])
		if err != nil {
			return nil, false
		}
		targets = append(targets, id)
	}
	return targets, true
}

// Unmatched returns the places of the manifestConfigs that match none of the targets, as far as the budget of comparisons allows. Outside
// the built-in groups, a target may have any resource.
func Unmatched(configs []workv1.ManifestConfigOption, targets []workv1.ResourceIdentifier) (places []int) {
	exact, ofGroup := map[workv1.ResourceIdentifier]bool{}, map[string][]workv1.ResourceIdentifier{}
	for _, target := range targets {
		target = withoutGuess(target)
		exact[target] = true
		ofGroup[target.Group] = append(ofGroup[target.Group], target)
	}
	budget := NewComparisons()
	for i := range configs {
		id := withoutGuess(configs[i].ResourceIdentifier)
		matches := exact[id]
		if Starred(id.Namespace, id.Name) {
			pattern := NewPattern(id.Namespace, id.Name)
			matches = slices.ContainsFunc(ofGroup[id.Group], func(t workv1.ResourceIdentifier) bool {
				return t.Resource == id.Resource && pattern.Matches(t.Namespace, t.Name, budget)
			})
		}
		if budget.Spent() {
			return places
		}
		if !matches {
			places = append(places, i)
		}
	}
	return places
}

// withoutGuess returns an identifier without its resource if the resource can only be guessed.
func withoutGuess(id workv1.ResourceIdentifier) workv1.ResourceIdentifier {
	if !BuiltIn(id.Group) {
		id.Resource = ""
	}
	return id
}
