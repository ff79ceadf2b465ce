package policy

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// oldest is the first release of Kubernetes that has ValidatingAdmissionPolicies in admissionregistration.k8s.io/v1.
var oldest = version.MajorMinor(1, 30)

var resource = schema.GroupVersionResource{Group: "work.open-cluster-management.io", Version: "v1alpha1", Resource: "manifestworkreplicasets"}

// compiled is a policy that was compiled for a release of Kubernetes.
type compiled struct{ validating.Validator }

// compile compiles a policy as an API server of a release does.
func compile(t testing.TB, policy Policy, release *version.Version) compiled {
	t.Helper()
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(release))
	require.NoError(t, err)
	options := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	const mode = environment.NewExpressions // Only the functions of that release.
	for _, variable := range policy.Spec.Variables {
		result := compiler.CompileAndStoreVariable(&validating.Variable{Name: variable.Name, Expression: variable.Expression}, options, mode)
		require.Nil(t, result.Error, "%s: %s", variable.Name, variable.Expression)
	}
	var matches, validations, messages []cel.ExpressionAccessor
	for i := range policy.Spec.MatchConditions {
		matches = append(matches, (*matchconditions.MatchCondition)(&policy.Spec.MatchConditions[i]))
	}
	for _, v := range policy.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message})
		messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
	}
	for _, expression := range append(append(matches, validations...), messages...) {
		result := compiler.CompileCELExpression(expression, options, mode)
		require.Nil(t, result.Error, expression.GetExpression())
	}
	// As strict as the API server. There, an error is the answer; here it fails the test.
	fail := admissionregistrationv1.Fail
	return compiled{validating.NewValidator(
		compiler.CompileCondition(validations, options, mode),
		matchconditions.NewMatcher(compiler.CompileCondition(matches, options, mode), &fail, "policy", "validate", policy.Name),
		compiler.CompileCondition(nil, options, mode),
		compiler.CompileCondition(messages, cel.OptionalVariableDeclarations{}, mode), &fail)}
}

// verdict is an API server's decision about an object.
type verdict struct{ denied, failed []string }

func (c compiled) judge(ctx context.Context, old, object *unstructured.Unstructured) verdict {
	operation := admission.Create
	var before runtime.Object
	if old != nil {
		operation, before = admission.Update, old
	}
	attributes := admission.NewAttributesRecord(object, before, object.GroupVersionKind(), object.GetNamespace(), object.GetName(),
		resource, "", operation, &metav1.CreateOptions{}, false, nil)
	result := c.Validate(ctx, resource, &admission.VersionedAttributes{
		Attributes: attributes, VersionedObject: object, VersionedOldObject: before, VersionedKind: object.GroupVersionKind(),
	}, nil, nil, celconfig.RuntimeCELCostBudget, nil)
	var out verdict
	for _, decision := range result.Decisions {
		switch decision.Evaluation {
		case validating.EvalDeny:
			out.denied = append(out.denied, decision.Message)
		case validating.EvalError:
			out.failed = append(out.failed, decision.Message)
		case validating.EvalAdmit:
		}
	}
	return out
}
