package status

import (
	"slices"

	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// AwaitingApproval returns the decision groups that wait only for an approval, sorted, up to the maximum number of approvals; nil for
// none. It omits the groups of a placementRef that is halted, or whose clusters are unknown.
func AwaitingApproval(plan *rollout.Plan) (groups []string) {
	for i := range plan.Groups {
		if g := &plan.Groups[i]; g.State == rollout.GroupUnapproved && !stopped(plan, g.Placement) {
			groups = append(groups, g.Group)
		}
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	return groups[:min(len(groups), ledger.MaxApprovals)]
}

// Awaits returns the groups that newly wait for an approval: they wait in the current report, but not in the previous report about the
// same revision.
func Awaits(was, is *Told) (groups []string) {
	for _, group := range is.Awaiting {
		if was.Update != is.Update || !slices.Contains(was.Awaiting, group) {
			groups = append(groups, group)
		}
	}
	return groups
}
