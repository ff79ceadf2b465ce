package placement

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The messages about strategy fields that Decide could not follow, for fmt.Sprintf. The admission policy in deploy/ uses the same
// messages.
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
	// AbortAll and ReportAbort are true if failureStrategy has that value.
	AbortAll, ReportAbort bool
	// Skip is true if unavailable clusters are skipped.
	Skip bool
	// Rings are the decision groups that roll out before all others, in their order.
	Rings []workv1alpha1.RolloutGroup
	// Gates are the success gates.
	Gates []workv1alpha1.SuccessGate
}

// DecidesAbort reports whether a failure of the ref leads to the decision to abort. With ReportAbort, the decision is only reported.
func (s *Strategy) DecidesAbort() bool { return s.AbortAll || s.ReportAbort }

// ParseStrategy reads a ref's strategy. The error names the first field that Decide can't interpret, and its valid
// values.
func ParseStrategy(ref string, in *workv1alpha1.RolloutStrategy) (Strategy, error) {
	s, errs := parse(field.NewPath(ref).Child("rolloutStrategy"), in)
	errs = slices.DeleteFunc(errs, func(err *field.Error) bool { return err.Detail == NegativeSoak })
	if len(errs) > 0 {
		return s, fmt.Errorf("%s: %s", errs[0].Field, errs[0].Detail)
	}
	s.Rings = in.Groups
	return s, nil
}

// StrategyOf returns a ref's strategy; empty if Decide can't follow it. ValidateStrategy reports the error.
func StrategyOf(in *workv1alpha1.RolloutStrategy) Strategy {
	s, err := ParseStrategy("", in)
	if err != nil {
		return Strategy{}
	}
	return s
}

// ValidateStrategy returns an error for each field of a ref's strategy that Decide could not follow, and for a negative minSuccessTime,
// which Decide would ignore. It checks only the fields that the strategy's type uses. Each error names the valid values.
func ValidateStrategy(path *field.Path, in *workv1alpha1.RolloutStrategy) field.ErrorList {
	_, errs := parse(path, in)
	return errs
}

// parse reads the fields that the strategy's type uses, except the groups. It checks these fields and the groups.
func parse(path *field.Path, in *workv1alpha1.RolloutStrategy) (s Strategy, errs field.ErrorList) {
	s = Strategy{
		Kind: cmp.Or(in.Type, clusterv1alpha1.All), Gates: in.SuccessGates, Skip: in.SkipsUnavailable(),
		AbortAll: in.FailureStrategy == workv1alpha1.AbortAll, ReportAbort: in.FailureStrategy == workv1alpha1.ReportAbort,
	}
	var config clusterv1alpha1.RolloutConfig
	var part *field.Path
	switch s.Kind {
	case clusterv1alpha1.All:
		part, config = path.Child("all"), ptr.Deref(in.All, clusterv1alpha1.RolloutAll{}).RolloutConfig
		// As in OCM, the soak is the wait between two batches, and All has no batches. The webhook and the conditions warn about the ignored
		// setting.
		s.SoakIgnored = config.MinSuccessTime.Duration
	case clusterv1alpha1.Progressive:
		progressive := ptr.Deref(in.Progressive, clusterv1alpha1.RolloutProgressive{})
		part, config, s.MaxConcurrency = path.Child("progressive"), progressive.RolloutConfig, progressive.MaxConcurrency
		s.Mandatory, s.MinSuccessTime = newMandatoryGroups(progressive.MandatoryDecisionGroups), config.MinSuccessTime.Duration
	case clusterv1alpha1.ProgressivePerGroup:
		perGroup := ptr.Deref(in.ProgressivePerGroup, clusterv1alpha1.RolloutProgressivePerGroup{})
		part, config = path.Child("progressivePerGroup"), perGroup.RolloutConfig
		s.Mandatory, s.MinSuccessTime = newMandatoryGroups(perGroup.MandatoryDecisionGroups), config.MinSuccessTime.Duration
	default:
		problem := fmt.Errorf("%q is not a rollout type: use All, Progressive or ProgressivePerGroup", in.Type)
		return s, field.ErrorList{invalid(path.Child("type"), problem)}
	}
	check := func(name string, err error) {
		if err != nil {
			errs = append(errs, invalid(part.Child(name), err))
		}
	}
	if err := badGate(path.Child("successGates"), s.Gates); err != nil {
		errs = append(errs, err)
	}
	var err error
	s.Deadline, err = parseDeadline(config.ProgressDeadline)
	check("progressDeadline", err)
	check("minSuccessTime", checkSoak(config.MinSuccessTime.Duration))
	s.MaxFailures = config.MaxFailures
	check("maxFailures", checkSize(s.MaxFailures))
	check("maxConcurrency", checkSize(s.MaxConcurrency))
	return s, append(errs, validateRings(path.Child("groups"), &s, in.Groups)...)
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

// percentOf returns a percentage of total, rounded up. In floating point, 7% of 100 would be 8.
func percentOf(value string, total int) int {
	percent, _ := percentage(value)
	return (percent*total + 99) / 100
}

// FailuresAllowed returns the number of clusters, out of total, that may fail under the given maxFailures. A percentage is rounded up. A
// number applies unchanged, even if it is larger than the total.
func FailuresAllowed(maxFailures *intstr.IntOrString, total int) int {
	if maxFailures.Type == intstr.Int {
		return maxFailures.IntValue()
	}
	return percentOf(maxFailures.StrVal, total)
}

// Batch returns the number of clusters, out of total, that may be in flight at once under the given maxConcurrency. A percentage is
// rounded up. An empty or zero value, or a value above the total, means all clusters, as in sdk-go's handler.
func Batch(maxConcurrency *intstr.IntOrString, total int) int {
	size := maxConcurrency.IntValue()
	if maxConcurrency.Type == intstr.String {
		size = percentOf(maxConcurrency.StrVal, total)
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

// Any reports whether there are any mandatory groups.
func (g MandatoryGroups) Any() bool { return len(g.names)+len(g.indices) > 0 }

// IsMandatory reports whether a decision group must succeed before the others begin. A name takes precedence over an index.
func (s *Strategy) IsMandatory(group *Group) bool {
	return s.Mandatory.names.Has(group.Name) || s.Mandatory.indices.Has(group.Index)
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

// ToleratesAll reports whether the ref does not fail even when all of its clusters fail. An absolute maxFailures can't be judged without
// the number of clusters, and a mandatory group tolerates no failure.
func (s *Strategy) ToleratesAll() bool {
	return s.MaxFailures.Type == intstr.String && FailuresAllowed(&s.MaxFailures, 1000) >= 1000 && !s.Mandatory.Any()
}
