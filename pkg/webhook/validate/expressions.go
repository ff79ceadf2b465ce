package validate

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/expression"
)

// expressionsRead is the largest number of expressions that are compiled. Each takes up to a millisecond.
const expressionsRead = 100

// brokenExpressions returns a warning for each CEL expression that agents can't evaluate. They report the condition of such a rule as
// False, so no cluster may ever succeed.
func brokenExpressions(template *workv1.ManifestWorkSpec) (out []string) {
	read := 0
	for i := range template.ManifestConfigs {
		for j := range template.ManifestConfigs[i].ConditionRules {
			r := &template.ManifestConfigs[i].ConditionRules[j]
			for k := range r.CelExpressions {
				if read++; read > expressionsRead {
					return out
				}
				if problem := expression.Problem(r.CelExpressions[k]); problem != "" {
					at := templatePath.Child("manifestConfigs").Index(i).Child("conditionRules").Index(j).Child("celExpressions").Index(k)
					out = append(out, at.String()+": agents can't evaluate this expression, so they report "+r.Condition+
						" as False on every cluster: correct it: "+problem)
				}
			}
		}
	}
	return out
}
