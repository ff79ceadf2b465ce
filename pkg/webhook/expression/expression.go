// Package expression checks the CEL expressions of condition rules as OCM's agents do.
package expression

import (
	"context"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/work/spoke/conditions"
)

// maxCost is the largest cost of an evaluation. The object is empty, so an evaluation is cheap.
const maxCost = 1_000_000

var agent = sync.OnceValues(conditions.NewConditionReader)

// Problem returns the first line of an agent's error about an expression: the expression does not compile, or its result is not a bool. It
// is empty for all other expressions, even if the evaluation depends on the object.
func Problem(expression string) string {
	reader, err := agent()
	if err != nil {
		return ""
	}
	quiet := klog.NewContext(context.Background(), klog.Logger{}) // Most expressions fail on an empty object.
	rule := workv1.ConditionRule{Type: workv1.CelConditionExpressionsType, CelExpressions: []string{expression}}
	found, _, _ := reader.GetConditionByRule(quiet, &unstructured.Unstructured{Object: map[string]any{}}, rule, maxCost)
	if found.Reason != workv1.ConditionRuleExpressionError {
		return ""
	}
	line, _, _ := strings.Cut(found.Message, "\n")
	if problem, compiles := strings.CutPrefix(line, "ERROR: <input>:"); compiles || strings.HasPrefix(line, "expected bool result") {
		return problem
	}
	return ""
}
