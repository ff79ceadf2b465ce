// Package policy generates the ValidatingAdmissionPolicies in deploy/ from the table of package rule. With them, the
// API server itself checks ManifestWorkReplicaSets, with the webhook's messages and without a CA to copy.
package policy

import (
	"fmt"
	"regexp"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
)

// The names of the policies and of their bindings.
const (
	RefusalsName = "manifestworkreplicasets.work.open-cluster-management.io"
	WarningsName = "manifestworkreplicaset-warnings.work.open-cluster-management.io"
)

// Policy is a policy and its binding.
type Policy struct {
	*admissionregistrationv1.ValidatingAdmissionPolicy
	Binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding
}

// Refusals returns the policy that rejects the objects that the webhook rejects, as far as CEL can express the rules.
func Refusals() Policy {
	return policyOf(RefusalsName, rule.Refusals(), changesSpec+" || "+rule.ChangesRetry, admissionregistrationv1.Deny)
}

// Warnings returns the policy that returns the webhook's warnings, as far as CEL can express the rules.
func Warnings() Policy {
	return policyOf(WarningsName, rule.Warnings(), changesSpec, admissionregistrationv1.Warn)
}

// changesSpec is a condition on requests that change the spec.
const changesSpec = "oldObject == null || object.?spec != oldObject.?spec"

func policyOf(name string, rules []*rule.Rule, matters string, action admissionregistrationv1.ValidationAction) Policy {
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			// An expression that is too expensive fails. The webhook still checks the object, and the hub never rolls
			// out an invalid object.
			FailurePolicy:    ptr.To(admissionregistrationv1.Ignore),
			MatchConstraints: constraints(),
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "is-not-being-deleted", Expression: "!has(object.metadata.deletionTimestamp)"},
				{Name: "changes-what-counts", Expression: matters},
			},
		},
	}
	for _, variable := range rule.Common {
		policy.Spec.Variables = append(policy.Spec.Variables, admissionregistrationv1.Variable(variable))
	}
	for _, rule := range rules {
		for _, check := range rule.Checks {
			for _, variable := range check.Variables {
				policy.Spec.Variables = append(policy.Spec.Variables, admissionregistrationv1.Variable(variable))
			}
			policy.Spec.Validations = append(policy.Spec.Validations, validation(rule, &check, action))
		}
	}
	return Policy{ValidatingAdmissionPolicy: policy, Binding: &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{action},
		},
	}}
}

func constraints() *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{workv1.GroupName}, APIVersions: []string{"v1alpha1"}, Resources: []string{"manifestworkreplicasets"},
				},
			},
		}},
	}
}

func validation(r *rule.Rule, check *rule.Check, action admissionregistrationv1.ValidationAction) admissionregistrationv1.Validation {
	prefix := ": Invalid value: "
	switch {
	case action == admissionregistrationv1.Warn:
		prefix = ": "
	case r.Required:
		prefix = ": Required value: "
	}
	return admissionregistrationv1.Validation{
		Expression:        check.Holds,
		Message:           strings.TrimSpace(withoutArguments(r.Text)),
		MessageExpression: check.Field + " + " + expression(prefix+r.Text, check.Args),
	}
}

// verbs matches the verbs of fmt.Sprintf in the text of a rule.
var verbs = regexp.MustCompile("%[qsd%]")

// expression returns a format for fmt.Sprintf as a CEL expression.
func expression(text string, args []string) string {
	literal := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
	out := verbs.ReplaceAllStringFunc(literal, func(verb string) string {
		if verb == "%%" {
			return "%"
		}
		function, arg := "string", args[0]
		if verb == "%q" {
			function = "strings.quote"
		}
		args = args[1:]
		return "' + " + function + "(" + arg + ") + '"
	})
	if len(args) > 0 {
		panic(fmt.Sprintf("%d arguments too many for %q", len(args), text))
	}
	return strings.TrimSuffix(out, " + ''")
}

// withoutArguments returns a text with "…" in place of each argument.
func withoutArguments(text string) string {
	return verbs.ReplaceAllStringFunc(text, func(verb string) string {
		if verb == "%%" {
			return "%"
		}
		return "…"
	})
}
