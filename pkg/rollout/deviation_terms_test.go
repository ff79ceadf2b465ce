package rollout_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	handler "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// The properties of a case that the deviations use, in the words of docs/contributing/rules.md.

// timedOut reports whether a cluster is past its deadline, for this package or for the handler.
func (c *rolloutCase) timedOut(r *reported) bool {
	deadline, err := time.ParseDuration(c.config().ProgressDeadline)
	return err == nil && r.age >= deadline && (r.status == handler.Progressing || r.status == handler.Failed || r.status == handler.TimeOut)
}

// failure reports whether a cluster counts against maxFailures.
func (c *rolloutCase) failure(r *reported) bool { return c.timedOut(r) || r.status == handler.Failed }

func (c *rolloutCase) config() clusterv1alpha1.RolloutConfig {
	switch s := c.ref.Strategy; s.Type {
	case clusterv1alpha1.Progressive:
		return s.Progressive.RolloutConfig
	case clusterv1alpha1.ProgressivePerGroup:
		return s.ProgressivePerGroup.RolloutConfig
	default:
		return s.All.RolloutConfig
	}
}

// onTheWay reports whether a cluster takes a slot.
func (c *rolloutCase) onTheWay(r *reported) bool {
	if r.status == handler.Succeeded {
		return r.age < c.soak()
	}
	return (r.status == handler.Progressing || r.status == handler.Failed) && !c.timedOut(r)
}

// soak returns the minSuccessTime, which has no effect for All.
func (c *rolloutCase) soak() time.Duration {
	if c.ref.Strategy.Type == clusterv1alpha1.All {
		return 0
	}
	return c.config().MinSuccessTime.Duration
}

func (r *reported) waits() bool { return r.status == absent || r.status == handler.ToApply }

func (c *rolloutCase) any(holds func(*reported) bool) bool {
	return slices.ContainsFunc(c.clusters, func(r reported) bool { return holds(&r) })
}

func (c *rolloutCase) count(holds func(*reported) bool) int {
	n := 0
	for i := range c.clusters {
		if holds(&c.clusters[i]) {
			n++
		}
	}
	return n
}

func (c *rolloutCase) sizes() []intstr.IntOrString {
	sizes := []intstr.IntOrString{c.config().MaxFailures}
	if c.ref.Strategy.Type == clusterv1alpha1.Progressive {
		sizes = append(sizes, c.ref.Strategy.Progressive.MaxConcurrency)
	}
	return sizes
}

// group returns the index of the cluster's group in the Placement.
func (c *rolloutCase) group(r *reported) int {
	return slices.IndexFunc(c.ref.Placement.Groups, func(g placement.Group) bool { return slices.Contains(g.Clusters, r.cluster) })
}

func (c *rolloutCase) isMandatory(r *reported) bool {
	g := c.group(r)
	return g >= 0 && c.mandatoryGroup(g)
}

func (c *rolloutCase) mandatoryGroup(g int) bool {
	var mandatory []clusterv1alpha1.MandatoryDecisionGroup
	switch s := c.ref.Strategy; s.Type {
	case clusterv1alpha1.Progressive:
		mandatory = s.Progressive.MandatoryDecisionGroups.MandatoryDecisionGroups
	case clusterv1alpha1.ProgressivePerGroup:
		mandatory = s.ProgressivePerGroup.MandatoryDecisionGroups.MandatoryDecisionGroups
	}
	group := c.ref.Placement.Groups[g]
	return slices.ContainsFunc(mandatory, func(m clusterv1alpha1.MandatoryDecisionGroup) bool {
		if m.GroupName != "" {
			return m.GroupName == group.Name
		}
		return m.GroupIndex == group.Index
	})
}

func (c *rolloutCase) hasMandatory() bool {
	for g := range c.ref.Placement.Groups {
		if c.mandatoryGroup(g) {
			return true
		}
	}
	return false
}

// totals returns the totals to which limits apply.
func (c *rolloutCase) totals() []int {
	all, rest := 0, 0
	var totals []int
	for g := range c.ref.Placement.Groups {
		n := len(c.ref.Placement.Groups[g].Clusters)
		totals = append(totals, n)
		all += n
		if !c.mandatoryGroup(g) {
			rest += n
		}
	}
	return append(totals, all, rest)
}

func (c *rolloutCase) inOrder() bool {
	return c.ref.Strategy.Type == clusterv1alpha1.ProgressivePerGroup
}

// batch returns how many clusters outside mandatory groups may be in flight at once.
func (c *rolloutCase) batch() int {
	rest := c.totals()[len(c.totals())-1]
	size := sizeOf(c.ref.Strategy.Progressive.MaxConcurrency, rest)
	if size <= 0 || size > rest {
		return rest
	}
	return size
}

// tooMany reports whether more clusters failed than the strategy tolerates.
func (c *rolloutCase) tooMany() bool {
	allowed := c.config().MaxFailures
	total, size := 0, 0
	for g := range c.ref.Placement.Groups {
		n := c.count(func(r *reported) bool { return c.group(r) == g && c.failure(r) })
		total, size = total+n, size+len(c.ref.Placement.Groups[g].Clusters)
		if c.mandatoryGroup(g) && n > 0 || c.inOrder() && n > sizeOf(allowed, len(c.ref.Placement.Groups[g].Clusters)) {
			return true
		}
	}
	return !c.inOrder() && total > sizeOf(allowed, size)
}

// grouped reports whether groups begin one after the other.
func (c *rolloutCase) grouped() bool { return c.inOrder() || c.hasMandatory() }

// turn returns the position of a group among the mandatory groups, or among the others.
func (c *rolloutCase) turn(g int) int {
	n := 0
	for before := range g {
		if c.mandatoryGroup(before) == c.mandatoryGroup(g) {
			n++
		}
	}
	return n
}

// firstGroup returns the first group that contains a cluster for which a condition holds, the mandatory groups first.
func (c *rolloutCase) firstGroup(holds func(*reported) bool) (int, bool) {
	for _, mandatory := range []bool{true, false} {
		for g := range c.ref.Placement.Groups {
			if c.mandatoryGroup(g) == mandatory && c.any(func(r *reported) bool { return c.group(r) == g && holds(r) }) {
				return g, true
			}
		}
	}
	return 0, false
}

func sizeOf(value intstr.IntOrString, total int) int {
	if value.Type == intstr.Int {
		return value.IntValue()
	}
	percent, _ := strconv.Atoi(strings.TrimSuffix(value.StrVal, "%"))
	return int(math.Ceil(float64(percent*total) / 100))
}
