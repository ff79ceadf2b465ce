package revision

import (
	workv1 "open-cluster-management.io/api/work/v1"
)

// ReportsDegraded reports whether a rule in the template makes every agent report Degraded, True or False, with each of its reports. The
// agent evaluates the rules of the first manifestConfig with rules that matches a manifest. An agent reports nothing for a rule that
// matches no manifest, that comes after another matching manifestConfig, or that names only a condition for which OCM has no rule. A
// cluster must not fail because the hub waits for such a report. If the resource of a manifest was guessed wrong, or if there are too many
// patterns to compare, the hub does not wait for a report.
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
		_, id, err := Identify(&template.Workload.Manifests[i])
		if err != nil {
			continue
		}
		place, found := index.First(id)
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
