package validate

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/irreversible"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
	hubwork "github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// surprises returns the warnings about content that is legal, but probably not what its author intends.
func surprises(old *unstructured.Unstructured, mwrs *workv1alpha1.ManifestWorkReplicaSet, limits Limits) []string {
	var out []string
	template, before, decides := &mwrs.Spec.ManifestWorkTemplate, templateBefore(old), false
	for i := range mwrs.Spec.PlacementRefs {
		strategy := placement.StrategyOf(&mwrs.Spec.PlacementRefs[i].RolloutStrategy)
		out = append(out, strategySurprises(refsPath.Index(i).Child("rolloutStrategy"), &strategy)...)
		decides = decides || strategy.DecidesAbort()
	}
	if mwrs.Spec.PruneStrategy == workv1alpha1.PruneWhenAvailable {
		out = append(out, handoverSurprises(template, before, limits)...)
	}
	// Kubernetes' view role can read ControllerRevisions, but not Secrets.
	out = append(out, kindSurprises(&rule.Secret, template, schema.GroupKind{Kind: "Secret"})...)
	if decides && !reportsHealth(template) {
		out = append(out, rule.NoHealth.Warning(templatePath.Child("manifestConfigs")))
	}
	out = append(out, brokenExpressions(template)...)
	if config, gate := undecidedGate(mwrs); gate != "" {
		out = append(out, rule.UndecidedGate.Warning(templatePath.Child("manifestConfigs").Index(config).Child("conditionRules"), gate))
	}
	if decides && mwrs.Spec.AbortedRevisionPolicy == "" && (hubwork.OfTool(mwrs.Annotations) || hubwork.OfTool(mwrs.Labels)) {
		out = append(out, rule.ReturnsAborted.Warning(specPath.Child("abortedRevisionPolicy")))
	}
	if before == nil {
		return out
	}
	return append(out, irreversibleSurprises(before, template, mwrs.Spec.HasFailureStrategy(workv1alpha1.AbortAll))...)
}

// handoverSurprises returns the warnings about a handover that keeps no objects. before is the previous template; nil for none.
func handoverSurprises(template, before *workv1.ManifestWorkSpec, limits Limits) (out []string) {
	if problem := handover.Prevented(template); problem != "" {
		out = append(out, keepsNothing(problem))
	}
	if before == nil {
		return out
	}
	if exceeded := handover.Exceeded(template, before, handover.Limits{ManifestBytes: limits.ManifestBytes}); exceeded != "" {
		out = append(out, keepsNothing(exceeded))
	}
	return out
}

// templateBefore returns the template of an older version; nil if there is none, or if it can't be read.
func templateBefore(old *unstructured.Unstructured) *workv1.ManifestWorkSpec {
	if old == nil {
		return nil
	}
	before, _, readable := decode(old)
	if !readable {
		return nil
	}
	return &before.Spec.ManifestWorkTemplate
}

// maxWarning is the maximum length of a warning in characters: API servers cut longer ones.
const maxWarning = 250

// irreversibleSurprises returns the warnings about effects of an update, or of the abort of its rollout, that can't be
// undone.
func irreversibleSurprises(before, template *workv1.ManifestWorkSpec, aborts bool) []string {
	var out []string
	path := templatePath.Child("workload", "manifests")
	for _, w := range irreversible.Warnings(before, template, aborts) {
		at := path
		if w.Manifest >= 0 {
			at = path.Index(w.Manifest)
		}
		out = append(out, cut(fmt.Sprintf("%s: %s", at, w.Text), maxWarning))
	}
	return out
}

func keepsNothing(why string) string {
	return fmt.Sprintf("%s: %s%s", field.NewPath("spec", "pruneStrategy"), rule.KeepsNothing, why)
}

func strategySurprises(path *field.Path, strategy *placement.Strategy) []string {
	var out []string
	if strategy.DecidesAbort() && strategy.Deadline == placement.NoDeadline {
		out = append(out, rule.NeverFails.Warning(path))
	}
	if strategy.SoakIgnored > 0 {
		out = append(out, rule.SoakIgnored.Warning(path))
	}
	switch {
	case strategy.ToleratesAll() && strategy.DecidesAbort():
		out = append(out, rule.ToleratesAllAndAborts.Warning(path))
	case strategy.ToleratesAll():
		out = append(out, rule.ToleratesAll.Warning(path))
	}
	return out
}

// reportsHealth reports whether a condition rule makes the agents report Progressing or Degraded. Without a rule, they
// report neither.
func reportsHealth(template *workv1.ManifestWorkSpec) bool {
	for i := range template.ManifestConfigs {
		for _, rule := range template.ManifestConfigs[i].ConditionRules {
			if rule.Condition == workv1.ManifestProgressing || rule.Condition == workv1.ManifestDegraded {
				return true
			}
		}
	}
	return false
}

// undecidedGate returns the first success gate whose condition comes from a condition rule without a rule for
// Progressing in the same manifestConfig, and the index of that manifestConfig. It returns an empty gate if there is
// none.
func undecidedGate(mwrs *workv1alpha1.ManifestWorkReplicaSet) (config int, gate string) {
	gates := sets.New[string]()
	for i := range mwrs.Spec.PlacementRefs {
		for _, gate := range mwrs.Spec.PlacementRefs[i].RolloutStrategy.SuccessGates {
			if gate.Enforces() {
				gates.Insert(gate.ConditionType)
			}
		}
	}
	for i := range mwrs.Spec.ManifestWorkTemplate.ManifestConfigs {
		rules := mwrs.Spec.ManifestWorkTemplate.ManifestConfigs[i].ConditionRules
		if slices.ContainsFunc(rules, func(r workv1.ConditionRule) bool { return r.Condition == workv1.ManifestProgressing }) {
			continue
		}
		if at := slices.IndexFunc(rules, func(r workv1.ConditionRule) bool { return gates.Has(r.Condition) }); at >= 0 {
			return i, rules[at].Condition
		}
	}
	return 0, ""
}

// kindSurprises returns a rule's warning for each manifest of a kind, regardless of the manifest's content.
func kindSurprises(about *rule.Rule, template *workv1.ManifestWorkSpec, kind schema.GroupKind) []string {
	var out []string
	for i := range template.Workload.Manifests {
		var meta metav1.TypeMeta
		if json.Unmarshal(template.Workload.Manifests[i].Raw, &meta) == nil && meta.GroupVersionKind().GroupKind() == kind {
			out = append(out, about.Warning(templatePath.Child("workload", "manifests").Index(i)))
		}
	}
	return out
}
