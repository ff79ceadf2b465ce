package placement

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// badGate returns the first error in success gates; nil if there is none. The CRD of this project reports the same errors.
func badGate(path *field.Path, gates []workv1alpha1.SuccessGate) *field.Error {
	if len(gates) > workv1alpha1.MaxSuccessGates {
		return invalid(path, fmt.Errorf("it has %d entries: use at most %d", len(gates), workv1alpha1.MaxSuccessGates))
	}
	for i := range gates {
		gate, conditionType := &gates[i], path.Index(i).Child("conditionType")
		same := func(other workv1alpha1.SuccessGate) bool { return other.ConditionType == gate.ConditionType }
		switch problems := validation.IsQualifiedName(gate.ConditionType); {
		case len(problems) > 0:
			return invalid(conditionType, errors.New("it is not a valid condition type: "+strings.Join(problems, "; ")))
		case slices.Contains(workv1alpha1.JudgedByHub, gate.ConditionType):
			return invalid(conditionType, fmt.Errorf("the hub judges the condition %s itself: use a type of your own", gate.ConditionType))
		case slices.ContainsFunc(gates[:i], same):
			return invalid(conditionType, fmt.Errorf("%s is listed twice: remove one of the two", gate.ConditionType))
		case gate.Mode != "" && gate.Mode != workv1alpha1.EnforceGate && gate.Mode != workv1alpha1.ReportGate:
			return invalid(path.Index(i).Child("mode"), errors.New("use Enforce or Report"))
		}
	}
	return nil
}

// GatesOf returns the condition types of the success gates that apply to a decision group: the enforced gates, or the reported ones.
func (s *Strategy) GatesOf(group *Group, enforced bool) (types []string) {
	for i := range s.Gates {
		if gate := &s.Gates[i]; gate.Enforces() == enforced && gate.Covers(group.Name, strconv.Itoa(int(group.Index))) {
			types = append(types, gate.ConditionType)
		}
	}
	return types
}

// HasGates reports whether any placementRef has a success gate that determines whether clusters succeed.
func HasGates(refs []Ref) bool {
	return slices.ContainsFunc(refs, func(ref Ref) bool {
		return slices.ContainsFunc(ref.Strategy.SuccessGates, func(gate workv1alpha1.SuccessGate) bool { return gate.Enforces() })
	})
}
