package revision

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	workv1 "open-cluster-management.io/api/work/v1"
)

// ReportsDegraded reports whether a rule of the template makes every agent report Degraded, True or False, with each of its reports. The
// agent evaluates the rules of the first manifestConfig with rules that matches a manifest. Some rules make the agent report nothing: a
// rule that matches no manifest, that follows another manifestConfig, or that names only a condition for which OCM has no rule. A cluster
// must not fail because the hub waits for such a report. The hub derives the resource of a manifest from its kind, because it can't ask the
// clusters. If that guess is wrong, or if there are too many patterns to compare, the hub waits for nothing.
func ReportsDegraded(template *workv1.ManifestWorkSpec) bool {
	degraded := make([]bool, len(template.ManifestConfigs))
	some := false
	for i := range template.ManifestConfigs {
		degraded[i] = hasRule(&template.ManifestConfigs[i], workv1.ManifestDegraded)
		some = some || degraded[i]
	}
	if !some {
		return false
	}
	hasRules := func(config *workv1.ManifestConfigOption) bool { return len(config.ConditionRules) > 0 }
	budget := NewComparisons()
	index := NewConfigIndex(template.ManifestConfigs, hasRules, budget)
	for i := range template.Workload.Manifests {
		place, found := firstFor(index, &template.Workload.Manifests[i])
		if budget.Spent() {
			return false
		}
		if found && degraded[place] {
			return true
		}
	}
	return false
}

func hasRule(config *workv1.ManifestConfigOption, condition string) bool {
	for i := range config.ConditionRules {
		if rule := &config.ConditionRules[i]; rule.Condition == condition && rule.Type == workv1.CelConditionExpressionsType {
			return true
		}
	}
	return false
}

// firstFor returns the place of the first config of an index that applies to a manifest; false if there is none.
func firstFor(index *ConfigIndex, manifest *workv1.Manifest) (place int, found bool) {
	var object metav1.PartialObjectMetadata
	if raw := manifest.Raw; raw == nil || utiljson.Unmarshal(raw, &object) != nil {
		return 0, false
	}
	kind := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind)
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return index.First(kind.Group, plural.Resource, object.Namespace, object.Name)
}
