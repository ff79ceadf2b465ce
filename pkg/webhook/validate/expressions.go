package validate

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/work/spoke/conditions"
)

// expressionsRead is the largest number of expressions that are compiled. Each takes up to a millisecond.
const expressionsRead = 100

// expressionCost is the largest cost of an evaluation. The object is empty, so an evaluation is cheap.
const expressionCost = 1_000_000

// agent evaluates condition rules as OCM's agents do.
var agent = sync.OnceValues(conditions.NewConditionReader)

// brokenExpressions returns a warning for each CEL expression that an agent can't compile, or whose result is never a bool. The condition of
// such a rule is always False, so no cluster may ever succeed.
func brokenExpressions(template *workv1.ManifestWorkSpec) (out []string) {
	read := 0
	for i := range template.ManifestConfigs {
		for j := range template.ManifestConfigs[i].ConditionRules {
			r := &template.ManifestConfigs[i].ConditionRules[j]
			for k, expression := range r.CelExpressions {
				if read++; read > expressionsRead {
					return out
				}
				if problem := problemOf(expression); problem != "" {
					at := templatePath.Child("manifestConfigs").Index(i).Child("conditionRules").Index(j).Child("celExpressions").Index(k)
					out = append(out, brokenExpression(at, r.Condition, problem))
				}
			}
		}
	}
	return out
}

func brokenExpression(at *field.Path, condition, problem string) string {
	return fmt.Sprintf("%s: agents can't evaluate this expression, so they report %s as False on every cluster: correct it: %s", at, condition, problem)
}

// problemOf returns the first line of an agent's error about an expression, if the error does not depend on the object.
func problemOf(expression string) string {
	reader, err := agent()
	if err != nil {
		return ""
	}
	rule := workv1.ConditionRule{Type: workv1.CelConditionExpressionsType, CelExpressions: []string{expression}}
	quiet := klog.NewContext(context.Background(), klog.Logger{}) // Most expressions fail on an empty object.
	found, _, _ := reader.GetConditionByRule(quiet, &unstructured.Unstructured{Object: map[string]any{}}, rule, expressionCost)
	if found.Reason != workv1.ConditionRuleExpressionError {
		return ""
	}
	line, _, _ := strings.Cut(found.Message, "\n")
	if compiles, ok := strings.CutPrefix(line, "ERROR: <input>:"); ok {
		return compiles
	}
	if strings.HasPrefix(line, "expected bool result") {
		return line
	}
	return ""
}
