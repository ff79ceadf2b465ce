// Package rule is the table of everything that admission refuses, or warns about, in a ManifestWorkReplicaSet: one text for each rule, and
// the CEL expressions with which an API server checks it by itself. Package validate, behind the webhook, takes its texts from here; package
// policy makes the ValidatingAdmissionPolicies of deploy/ from it.
//
// A policy refuses only what the webhook refuses too, and in the same words. Where CEL can say less than Go, the policy lets the object
// through, and the webhook refuses it.
package rule

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rule is something that an object should be like.
type Rule struct {
	// Name identifies the rule, in lowerCamelCase: variables of the policy begin with it.
	Name string
	// Text is for fmt.Sprintf. Its verbs are %q, %s and %d.
	Text string
	// Required is true if the field is missing, not invalid.
	Required bool
	// Checks are how CEL says it. All of them must hold. There are none if only the webhook can say it.
	Checks []Check
	// Left is what the webhook refuses and the Checks let through, and why.
	Left string
}

// Check is one validation of a policy.
type Check struct {
	// Variables are evaluated when an expression needs them.
	Variables []Variable
	// Holds is true for an object that is as it should be, and for an update that brings no new problem.
	Holds string
	// Field is the path of the first field that is not as it should be.
	Field string
	// Args are the arguments of Text: strings for %q and %s, integers for %d.
	Args []string
}

// Variable is a named expression.
type Variable struct{ Name, Expression string }

// Error returns the error of the webhook. Its text leaves out the value, because Text names it where that helps.
func (r *Rule) Error(path *field.Path, args ...any) *field.Error {
	detail := fmt.Sprintf(r.Text, args...)
	if r.Required {
		return field.Required(path, detail)
	}
	return field.Invalid(path, field.OmitValueType{}, detail)
}

// Warning returns the warning of the webhook.
func (r *Rule) Warning(path *field.Path, args ...any) string {
	return fmt.Sprintf("%s: "+r.Text, append([]any{path}, args...)...)
}

// Refusals are the rules of which each violation refuses an object, in the order in which the policy checks them.
func Refusals() []*Rule {
	return []*Rule{
		&LongName, &NoManifests, &Unnamed, &Generated, &Twice, &TooLarge, &NoAccount, &TooManyConfigs, &TooManyRefs, &SamePlacement,
		&BadSoak, &NegativeSoak, &BadDeadline, &BadSize, &NegativeSize,
	}
}

// Warnings are the rules of which each violation is worth a warning.
func Warnings() []*Rule {
	return []*Rule{
		&AbortWhilePaused, &NeverFails, &SoakIgnored, &ToleratesAllAndAborts, &ToleratesAll, &OrphansPrevent, &CompletionPrevents, &Secret,
		&NoHealth, &Definition, &LosesPreserved,
	}
}
