package revision

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	workv1 "open-cluster-management.io/api/work/v1"
)

// ReportsDegraded reports whether a rule of the template makes every agent report Degraded, True or False, with each of its reports.
// The agent evaluates the rules of the first manifestConfig with rules that matches a manifest. A rule that matches none, that comes
// behind another manifestConfig, or that only names a condition which OCM knows no rule for, makes it report nothing: a cluster must not
// fail because the hub waits for that. The resource of a manifest is taken from its kind, because the hub can't ask the clusters; where
// that guess is wrong the hub waits for nothing.
func ReportsDegraded(template *workv1.ManifestWorkSpec) bool {
	if !hasRule(template.ManifestConfigs, workv1.ManifestDegraded) {
		return false
	}
	for i := range template.Workload.Manifests {
		if hasRule(firstWithRules(template.ManifestConfigs, &template.Workload.Manifests[i]), workv1.ManifestDegraded) {
			return true
		}
	}
	return false
}

func hasRule(configs []workv1.ManifestConfigOption, condition string) bool {
	for i := range configs {
		for j := range configs[i].ConditionRules {
			if rule := &configs[i].ConditionRules[j]; rule.Condition == condition && rule.Type == workv1.CelConditionExpressionsType {
				return true
			}
		}
	}
	return false
}

// firstWithRules is the config whose rules the agent evaluates for a manifest; none where it evaluates nothing.
func firstWithRules(configs []workv1.ManifestConfigOption, manifest *workv1.Manifest) []workv1.ManifestConfigOption {
	var object metav1.PartialObjectMetadata
	if raw := manifest.Raw; raw == nil || utiljson.Unmarshal(raw, &object) != nil {
		return nil
	}
	kind := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind)
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	for i := range configs {
		id := &configs[i].ResourceIdentifier
		if len(configs[i].ConditionRules) > 0 && id.Group == kind.Group && id.Resource == plural.Resource &&
			MatchesName(id.Namespace, object.Namespace) && MatchesName(id.Name, object.Name) {
			return configs[i : i+1]
		}
	}
	return nil
}

// MatchesName compares a name with a pattern in which a star stands for anything.
func MatchesName(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}
