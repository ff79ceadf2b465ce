package placement

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The texts about the groups of a strategy, for fmt.Sprintf. The schema of the CRD has most of these rules, too.
const (
	// RingsOfAll is about groups with the type All.
	RingsOfAll = "they have no effect with type All: use Progressive or ProgressivePerGroup"
	// RingsAndMandatory is about groups together with mandatoryDecisionGroups.
	RingsAndMandatory = "they can't be combined with mandatoryDecisionGroups: list those groups here first, each with maxFailures: 0"
	// UnnamedRing is about an entry that has both a name and an index, or neither.
	UnnamedRing = "set either groupName or groupIndex"
	// RingTwice is about a group that an earlier entry has. It quotes the group.
	RingTwice = "%q is listed twice: remove one of the two entries"
	// BadBake is about a bakeTime.
	BadBake = "use a duration from 0s to 720h (30 days), such as 30m or 2h"
)

var (
	noBake metav1.Duration
	noSize intstr.IntOrString
)

// MaxBakeTime is the maximum bakeTime of a group.
const MaxBakeTime = 30 * 24 * time.Hour

// Ring is an entry of rolloutStrategy.groups.
type Ring struct {
	// Label is the groupName, or the groupIndex as text.
	Label string
	name  string
	index int32
	// NeedsApproval is true if the group waits for an approval.
	NeedsApproval bool
	BakeTime      time.Duration
	// MaxConcurrency and MaxFailures replace the limits of the strategy; nil if they do not.
	MaxConcurrency, MaxFailures *intstr.IntOrString
}

// Has reports whether an entry names a decision group. OCM splits a large group into several that have its name.
func (r *Ring) Has(group *Group) bool {
	if r.name != "" {
		return group.Name == r.name
	}
	return group.Index == r.index
}

// RingOf returns the index of the first entry that names a decision group, or the number of entries if none does.
func (s *Strategy) RingOf(group *Group) int {
	for i := range s.Rings {
		if s.Rings[i].Has(group) {
			return i
		}
	}
	return len(s.Rings)
}

// Batch returns how many of total clusters of the group may be in flight at once, if the group has a limit of its own.
func (r *Ring) Batch(total int) int {
	return (&Strategy{MaxConcurrency: *r.MaxConcurrency}).Batch(total)
}

// FailuresAllowed returns how many of total clusters of the group may fail, if the group has a limit of its own.
func (r *Ring) FailuresAllowed(total int) int {
	return (&Strategy{MaxFailures: *r.MaxFailures}).FailuresAllowed(total)
}

// parseRings reads the groups of a strategy. The error names the first field that can't be followed.
func (s *Strategy) parseRings(strategy string, in *workv1alpha1.RolloutStrategy) error {
	if errs := validateRings(field.NewPath(strategy, "groups"), s, in); len(errs) > 0 {
		return fmt.Errorf("%s: %s", errs[0].Field, errs[0].Detail)
	}
	for i := range in.Groups {
		g := &in.Groups[i]
		s.Rings = append(s.Rings, Ring{
			Label: g.Label(), name: g.GroupName, index: ptr.Deref(g.GroupIndex, -1), NeedsApproval: g.Approval == workv1alpha1.ApprovalRequired,
			BakeTime: ptr.Deref(g.BakeTime, noBake).Duration, MaxConcurrency: g.MaxConcurrency, MaxFailures: g.MaxFailures,
		})
	}
	return nil
}

// validateRings returns an error for each setting in the groups of a strategy that Decide could not follow. s holds the other fields of the
// strategy.
func validateRings(path *field.Path, s *Strategy, in *workv1alpha1.RolloutStrategy) (errs field.ErrorList) {
	if len(in.Groups) == 0 {
		return nil
	}
	switch {
	case s.Kind == clusterv1alpha1.All:
		errs = append(errs, invalid(path, errors.New(RingsOfAll)))
	case s.Mandatory.Any():
		errs = append(errs, invalid(path, errors.New(RingsAndMandatory)))
	}
	seen := map[string]bool{}
	for i := range in.Groups {
		errs = append(errs, validateRing(path.Index(i), &in.Groups[i], seen)...)
	}
	return errs
}

func validateRing(path *field.Path, g *workv1alpha1.RolloutGroup, seen map[string]bool) (errs field.ErrorList) {
	check := func(path *field.Path, err error) {
		if err != nil {
			errs = append(errs, invalid(path, err))
		}
	}
	switch label := g.Label(); {
	case (g.GroupName == "") == (g.GroupIndex == nil), ptr.Deref(g.GroupIndex, 0) < 0:
		check(path, errors.New(UnnamedRing))
	case seen[label]:
		check(path, fmt.Errorf(RingTwice, label))
	default:
		seen[label] = true
	}
	if g.Approval != "" && g.Approval != workv1alpha1.ApprovalRequired {
		errs = append(errs, field.NotSupported(path.Child("approval"), g.Approval, []workv1alpha1.GroupApproval{workv1alpha1.ApprovalRequired}))
	}
	if bake := ptr.Deref(g.BakeTime, noBake).Duration; bake < 0 || bake > MaxBakeTime {
		check(path.Child("bakeTime"), errors.New(BadBake))
	}
	check(path.Child("maxConcurrency"), checkSize(ptr.Deref(g.MaxConcurrency, noSize)))
	check(path.Child("maxFailures"), checkSize(ptr.Deref(g.MaxFailures, noSize)))
	return errs
}
