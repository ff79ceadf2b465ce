// Package rule is the table of all admission errors and warnings for a ManifestWorkReplicaSet: one text for each rule,
// and the CEL expressions with which an API server checks the rule. Package validate, which the webhook uses, takes its
// texts from the table. Package policy generates the ValidatingAdmissionPolicies in deploy/ from the table.
//
// A policy rejects only objects that the webhook also rejects, with the same message. If CEL can't express a check, the policy admits the
// object, and the webhook rejects it.
package rule

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rule is a requirement on an object.
type Rule struct {
	// Text is a format for fmt.Sprintf. Its verbs are %q, %s and %d.
	Text string
	// Required is true if the rule is about a missing field, not an invalid value.
	Required bool
	// Checks express the rule in CEL. All of them must hold. They are empty if only the webhook can check the rule.
	Checks []Check
}

// Check is one validation of a policy.
type Check struct {
	// Variables are evaluated when an expression needs them.
	Variables []Variable
	// Holds is true for a valid object, and for an update that adds no problem.
	Holds string
	// Field is the path of the first invalid field.
	Field string
	// Args are the arguments of Text: strings for %q and %s, integers for %d.
	Args []string
}

// Variable is a named expression.
type Variable struct{ Name, Expression string }

// Error returns the error from the webhook. Its text omits the value, because Text names the value if that helps.
func (r *Rule) Error(path *field.Path, args ...any) *field.Error {
	detail := fmt.Sprintf(r.Text, args...)
	if r.Required {
		return field.Required(path, detail)
	}
	return field.Invalid(path, field.OmitValueType{}, detail)
}

// Warning returns the warning from the webhook.
func (r *Rule) Warning(path *field.Path, args ...any) string {
	return fmt.Sprintf("%s: "+r.Text, append([]any{path}, args...)...)
}

// Refusals returns the rules whose violation rejects an object, in the order in which the policy checks them.
func Refusals() []*Rule {
	return []*Rule{
		&LongName, &NoManifests, &Unnamed, &Generated, &Twice, &TooLarge, &NoAccount, &TooManyConfigs, &UnmatchedConfig, &TooManyRefs, &SamePlacement,
		&BadSoak, &NegativeSoak, &BadDeadline, &BadSize, &NegativeSize, &BadRetry,
	}
}

// Warnings returns the rules whose violation causes a warning.
func Warnings() []*Rule {
	return []*Rule{
		&AbortWhilePaused, &NeverFails, &SoakIgnored, &ToleratesAllAndAborts, &ToleratesAll, &OrphansPrevent, &CompletionPrevents, &Secret,
		&NoHealth, &UndecidedGate, &ReturnsAborted,
	}
}
