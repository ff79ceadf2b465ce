package rollout

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// ValidateStrategy returns everything in a ref's strategy that Decide could not follow, and a negative minSuccessTime, which it
// would take for none. Only what the strategy's type uses is looked at. Each error says what the field may hold.
func ValidateStrategy(path *field.Path, in *workv1alpha1.RolloutStrategy) field.ErrorList {
	s, part, config, err := takeStrategy(in)
	if err != nil {
		return field.ErrorList{invalid(path.Child("type"), err)}
	}
	path = path.Child(part)
	var errs field.ErrorList
	check := func(name string, err error) {
		if err != nil {
			errs = append(errs, invalid(path.Child(name), err))
		}
	}
	_, err = parseDeadline(config.ProgressDeadline)
	check("progressDeadline", err)
	check("minSuccessTime", checkSoak(config.MinSuccessTime.Duration))
	check("maxFailures", checkSize(config.MaxFailures))
	check("maxConcurrency", checkSize(s.maxConcurrency))
	return errs
}

// invalid leaves the value to the error's own words.
func invalid(path *field.Path, err error) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, err.Error())
}

func checkSoak(soak time.Duration) error {
	if soak < 0 {
		return fmt.Errorf("%v is negative: use 0s for no soak, or a duration such as 30s or 5m", soak)
	}
	return nil
}

// Traits are what a strategy means when clusters fail.
type Traits struct {
	// AbortAll says that a failure of the ref leads to an abort (R12).
	AbortAll bool
	// NoDeadline says that no cluster ever counts as failed.
	NoDeadline bool
	// ToleratesAll says that the ref does not fail when every one of its clusters does.
	ToleratesAll bool
	// SoakIgnored says that it has a minSuccessTime, and that its type has no use for one.
	SoakIgnored bool
}

// TraitsOf reads the traits of a strategy. What can't be parsed has none: ValidateStrategy reports it.
func TraitsOf(in *workv1alpha1.RolloutStrategy) Traits {
	s, err := parseStrategy("", in)
	if err != nil {
		return Traits{}
	}
	return Traits{
		AbortAll:   s.abortAll,
		NoDeadline: s.deadline == noDeadline,

		SoakIgnored: s.soakIgnored > 0,
		// A number says nothing without the number of clusters, and a mandatory group tolerates no failure (R11).
		ToleratesAll: s.maxFailures.Type == intstr.String && s.failuresAllowed(1000) >= 1000 && !s.mandatory.any(),
	}
}
