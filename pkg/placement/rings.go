package placement

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// maxBakeTime is the maximum bakeTime of a group.
const maxBakeTime = 30 * 24 * time.Hour

// RingOf returns the index of the first entry in rolloutStrategy.groups that names a decision group, or the number of entries if no entry
// names it. OCM splits a large group into several groups with the same name.
func (s *Strategy) RingOf(group *Group) int {
	for i := range s.Rings {
		ring := &s.Rings[i]
		if ring.GroupName == group.Name && group.Name != "" || ring.GroupName == "" && ptr.Deref(ring.GroupIndex, -1) == group.Index {
			return i
		}
	}
	return len(s.Rings)
}

// validateRings returns an error for each setting in a strategy's groups that Decide could not follow. The CRD's schema also contains most
// of these rules. s holds the other fields of the strategy.
func validateRings(path *field.Path, s *Strategy, groups []workv1alpha1.RolloutGroup) (errs field.ErrorList) {
	switch {
	case len(groups) == 0:
		return nil
	case s.Kind == clusterv1alpha1.All:
		errs = append(errs, invalid(path, errors.New("they have no effect with type All: use Progressive or ProgressivePerGroup")))
	case s.Mandatory.Any():
		errs = append(errs, invalid(path, errors.New("they can't be combined with mandatoryDecisionGroups: list those groups here first, "+
			"each with maxFailures: 0")))
	}
	seen := map[string]bool{}
	for i := range groups {
		errs = append(errs, validateRing(path.Index(i), &groups[i], seen)...)
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
		check(path, errors.New("set either groupName or groupIndex"))
	case seen[label]:
		check(path, fmt.Errorf("%q is listed twice: remove one of the two entries", label))
	default:
		seen[label] = true
	}
	if g.Approval != "" && g.Approval != workv1alpha1.ApprovalRequired {
		errs = append(errs, field.NotSupported(path.Child("approval"), g.Approval, []workv1alpha1.GroupApproval{workv1alpha1.ApprovalRequired}))
	}
	if bake := g.Bake(); bake < 0 || bake > maxBakeTime {
		check(path.Child("bakeTime"), errors.New("use a duration from 0s to 720h (30 days), such as 30m or 2h"))
	}
	check(path.Child("maxConcurrency"), checkSize(ptr.Deref(g.MaxConcurrency, intstr.IntOrString{})))
	check(path.Child("maxFailures"), checkSize(ptr.Deref(g.MaxFailures, intstr.IntOrString{})))
	return errs
}
