package placement

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The texts about fields of a strategy that Decide could not follow, for fmt.Sprintf. The admission policy of deploy/ uses the same texts.
const (
	// BadDeadline is about a progressDeadline. It quotes the value.
	BadDeadline = "%q is not a valid deadline: use None, or a duration above zero such as 90s, 10m or 2h"
	// NegativeSoak is about a minSuccessTime.
	NegativeSoak = "it is negative: use 0s for no soak, or a duration such as 30s or 5m"
	// NegativeSize is about a negative number of clusters. It quotes the number.
	NegativeSize = "%d is negative: use a number of clusters or a percentage such as 10%%"
	// BadSize is about a value that is neither a number of clusters nor a percentage. It quotes the value.
	BadSize = "%q is neither a number nor a percentage: use a number of clusters such as 2, without quotes, or a percentage such as \"10%%\""
)

// NoDeadline stands for "None": a cluster never times out.
const NoDeadline = time.Duration(math.MaxInt64)

// Strategy is a ref's rollout strategy, parsed.
type Strategy struct {
	Kind           clusterv1alpha1.RolloutType
	Deadline       time.Duration
	MinSuccessTime time.Duration
	SoakIgnored    time.Duration
	MaxFailures    intstr.IntOrString
	MaxConcurrency intstr.IntOrString
	Mandatory      MandatoryGroups
	// AbortAll and ReportAbort are true for these values of failureStrategy.
	AbortAll, ReportAbort bool
	// Skip is true if unavailable clusters are skipped.
	Skip bool
	// Rings are the decision groups that go before all others, in their order.
	Rings []Ring
	// Gates are the success gates.
	Gates []workv1alpha1.SuccessGate
}

// DecidesAbort reports whether a failure of the ref decides an abort, which ReportAbort does not carry out.
func (s *Strategy) DecidesAbort() bool { return s.AbortAll || s.ReportAbort }

// ParseStrategy reads a ref's strategy. The error names the field and its valid values.
func ParseStrategy(field string, in *workv1alpha1.RolloutStrategy) (Strategy, error) {
	field += ".rolloutStrategy"
	s, part, config, err := takeStrategy(in)
	if err != nil {
		return s, fmt.Errorf("%s.type: %w", field, err)
	}
	if s.Kind == clusterv1alpha1.All {
		// As in OCM, the soak is the wait between two batches, and All has no batches. The webhook and the conditions warn about it.
		s.SoakIgnored = config.MinSuccessTime.Duration
		config.MinSuccessTime.Duration = 0
	}
	if child, err := badGate(s.Gates); err != nil {
		return s, fmt.Errorf("%s.%s: %w", field, child, err)
	}
	if err := s.parseConfig(field+"."+part, config); err != nil {
		return s, err
	}
	return s, s.parseRings(field, in)
}

// takeStrategy returns the fields that a strategy's type uses, and the name of the part that holds them.
func takeStrategy(in *workv1alpha1.RolloutStrategy) (s Strategy, part string, config clusterv1alpha1.RolloutConfig, err error) {
	s = Strategy{
		Kind: in.Type, AbortAll: in.FailureStrategy == workv1alpha1.AbortAll, ReportAbort: in.FailureStrategy == workv1alpha1.ReportAbort,
		Skip: in.SkipsUnavailable(), Gates: in.SuccessGates,
	}
	if s.Kind == "" {
		s.Kind = clusterv1alpha1.All
	}
	switch s.Kind {
	case clusterv1alpha1.All:
		part = "all"
		if in.All != nil {
			config = in.All.RolloutConfig
		}
	case clusterv1alpha1.Progressive:
		part = "progressive"
		if in.Progressive != nil {
			config = in.Progressive.RolloutConfig
			s.MaxConcurrency = in.Progressive.MaxConcurrency
			s.Mandatory = newMandatoryGroups(in.Progressive.MandatoryDecisionGroups)
		}
	case clusterv1alpha1.ProgressivePerGroup:
		part = "progressivePerGroup"
		if in.ProgressivePerGroup != nil {
			config = in.ProgressivePerGroup.RolloutConfig
			s.Mandatory = newMandatoryGroups(in.ProgressivePerGroup.MandatoryDecisionGroups)
		}
	default:
		err = fmt.Errorf("%q is not a rollout type: use All, Progressive or ProgressivePerGroup", in.Type)
	}
	return s, part, config, err
}

func (s *Strategy) parseConfig(field string, config clusterv1alpha1.RolloutConfig) error {
	s.MinSuccessTime = config.MinSuccessTime.Duration
	s.MaxFailures = config.MaxFailures
	var err error
	if s.Deadline, err = parseDeadline(config.ProgressDeadline); err != nil {
		return fmt.Errorf("%s.progressDeadline: %w", field, err)
	}
	if err := checkSize(s.MaxFailures); err != nil {
		return fmt.Errorf("%s.maxFailures: %w", field, err)
	}
	if err := checkSize(s.MaxConcurrency); err != nil {
		return fmt.Errorf("%s.maxConcurrency: %w", field, err)
	}
	return nil
}

func parseDeadline(value string) (time.Duration, error) {
	if value == "" || value == "None" {
		return NoDeadline, nil
	}
	deadline, err := time.ParseDuration(value)
	if err != nil || deadline <= 0 {
		return NoDeadline, fmt.Errorf(BadDeadline, value)
	}
	return deadline, nil
}

func checkSize(value intstr.IntOrString) error {
	if value.Type == intstr.Int {
		if value.IntVal < 0 {
			return fmt.Errorf(NegativeSize, value.IntVal)
		}
		return nil
	}
	if _, err := percentage(value.StrVal); err != nil {
		return fmt.Errorf(BadSize, value.StrVal)
	}
	return nil
}

func percentage(value string) (int, error) {
	number, ok := strings.CutSuffix(value, "%")
	if !ok {
		return 0, fmt.Errorf("%q does not end in %%", value)
	}
	percent, err := strconv.ParseUint(number, 10, 16)
	return int(percent), err //nolint:gosec // 16 bits
}

// percentOf returns a percentage of total, rounded up. In floating point 7% of 100 would be 8.
func percentOf(value string, total int) int {
	percent, _ := percentage(value)
	return (percent*total + 99) / 100
}

// FailuresAllowed returns how many of total clusters may fail. A percentage is rounded up. A number applies unchanged, even if it is
// larger than the total.
func (s *Strategy) FailuresAllowed(total int) int {
	if s.MaxFailures.Type == intstr.Int {
		return s.MaxFailures.IntValue()
	}
	return percentOf(s.MaxFailures.StrVal, total)
}

// Batch returns how many of total clusters may be in flight at once. A percentage is rounded up. An empty or zero value, or one above the
// total, means all, as in sdk-go's handler.
func (s *Strategy) Batch(total int) int {
	size := s.MaxConcurrency.IntValue()
	if s.MaxConcurrency.Type == intstr.String {
		size = percentOf(s.MaxConcurrency.StrVal, total)
	}
	if size <= 0 || size > total {
		return total
	}
	return size
}

// MandatoryGroups are the decision groups that come first, by name or, if the strategy gives no name, by index.
type MandatoryGroups struct {
	names   sets.Set[string]
	indices sets.Set[int32]
}

func newMandatoryGroups(in clusterv1alpha1.MandatoryDecisionGroups) MandatoryGroups {
	groups := MandatoryGroups{names: sets.New[string](), indices: sets.New[int32]()}
	for _, group := range in.MandatoryDecisionGroups {
		if group.GroupName != "" {
			groups.names.Insert(group.GroupName)
		} else {
			groups.indices.Insert(group.GroupIndex)
		}
	}
	return groups
}

// Any reports whether there are any.
func (g MandatoryGroups) Any() bool { return len(g.names)+len(g.indices) > 0 }

// IsMandatory reports whether a decision group must succeed before the others begin. A name takes precedence over an index.
func (s *Strategy) IsMandatory(group *Group) bool {
	return s.Mandatory.names.Has(group.Name) || s.Mandatory.indices.Has(group.Index)
}

// ValidateStrategy returns an error for everything in a ref's strategy that Decide could not follow, and for a negative minSuccessTime,
// which Decide would ignore. It checks only the fields that the strategy's type uses. Each error names the valid values.
func ValidateStrategy(path *field.Path, in *workv1alpha1.RolloutStrategy) field.ErrorList {
	s, part, config, err := takeStrategy(in)
	if err != nil {
		return field.ErrorList{invalid(path.Child("type"), err)}
	}
	strategy := path
	var errs field.ErrorList
	if child, err := badGate(s.Gates); err != nil {
		errs = append(errs, invalid(path.Child(child), err))
	}
	path = path.Child(part)
	check := func(name string, err error) {
		if err != nil {
			errs = append(errs, invalid(path.Child(name), err))
		}
	}
	_, err = parseDeadline(config.ProgressDeadline)
	check("progressDeadline", err)
	check("minSuccessTime", checkSoak(config.MinSuccessTime.Duration))
	check("maxFailures", checkSize(config.MaxFailures))
	check("maxConcurrency", checkSize(s.MaxConcurrency))
	return append(errs, validateRings(strategy.Child("groups"), &s, in)...)
}

// invalid omits the value, because the error includes it.
func invalid(path *field.Path, err error) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, err.Error())
}

func checkSoak(soak time.Duration) error {
	if soak < 0 {
		return errors.New(NegativeSoak)
	}
	return nil
}

// Traits describe the effect of a strategy when clusters fail.
type Traits struct {
	// AbortAll is true if a failure of the ref leads to an abort, or to the report of one.
	AbortAll bool
	// NoDeadline is true if no late or degraded cluster fails.
	NoDeadline bool
	// ToleratesAll is true if the ref does not fail even when all of its clusters fail.
	ToleratesAll bool
	// SoakIgnored is true if it has a minSuccessTime that its type ignores.
	SoakIgnored bool
}

// TraitsOf returns the traits of a strategy. A field that can't be parsed has no trait: ValidateStrategy reports it.
func TraitsOf(in *workv1alpha1.RolloutStrategy) Traits {
	s, err := ParseStrategy("", in)
	if err != nil {
		return Traits{}
	}
	return Traits{
		AbortAll:   s.DecidesAbort(),
		NoDeadline: s.Deadline == NoDeadline,

		SoakIgnored: s.SoakIgnored > 0,
		// An absolute number can't be judged without the number of clusters, and a mandatory group tolerates no failure.
		ToleratesAll: s.MaxFailures.Type == intstr.String && s.FailuresAllowed(1000) >= 1000 && !s.Mandatory.Any(),
	}
}
