package lifecycle

import (
	"fmt"
	"slices"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// obeyApprovals approves decision groups for the update revision, and withdraws approvals. It adds one event for all commands that it
// can't obey.
func (v *Observation) obeyApprovals(d *Decision) {
	l, problems := &d.Ledger, []string(nil)
	for _, group := range v.Commands.ApproveOther {
		problems = append(problems, fmt.Sprintf("group %q: the approval is not for the update revision, whose hash is %q", group, l.Update.Hash))
	}
	for i := range v.Commands.Approve {
		approval := v.Commands.Approve[i]
		if problem := v.unapprovable(l, approval.Group); problem != "" {
			problems = append(problems, fmt.Sprintf("group %q: %s", approval.Group, problem))
			continue
		}
		if approval.At.IsZero() || approval.At.After(v.Now) {
			approval.At = v.Now
		}
		l.Approve(&approval)
	}
	for _, group := range v.Commands.Withdraw {
		switch {
		case l.Abort != nil || l.Complete():
			problems = append(problems, fmt.Sprintf("group %q: %s, so no approval can be withdrawn", group, v.overBecause(l)))
		case v.hasStarted(l, group):
			problems = append(problems, fmt.Sprintf("group %q: it has begun, so its approval can't be withdrawn; pause or abort the rollout", group))
		default:
			l.Withdraw(group)
		}
	}
	if v.Commands.WithoutApprovals {
		problems = append(problems, "the list was removed: to withdraw an approval, remove its entry; to withdraw all, set an empty list")
	}
	if len(problems) > 0 {
		ignored := approvalIgnored(problems)
		ignored.Once = v.Commands.WithoutApprovals // An older CRD removes the list on every write.
		d.Events = append(d.Events, ignored)
	}
}

// approvalIgnored returns the event for changes to status.approvals that the hub reverts.
func approvalIgnored(problems []string) Event {
	note := "status.approvals was changed, and the hub reverted the change: " + problems[0]
	if more := len(problems) - 1; more > 0 {
		note += fmt.Sprintf("; and %d more", more)
	}
	return Event{Warning: true, Reason: workv1alpha1.EventApprovalIgnored, Action: "Approve", Note: note}
}

// unapprovable returns the reason why a group can't be approved; empty if it can be.
func (v *Observation) unapprovable(l *ledger.Ledger, group string) string {
	switch {
	case l.Abort != nil || l.Complete():
		return v.overBecause(l) + ", so there is nothing to approve"
	case group == "" || len(group) > ledger.MaxGroup || !v.requiresApproval(group):
		return "no entry of rolloutStrategy.groups has this name or index and approval: Required"
	case len(l.Approvals) >= ledger.MaxApprovals:
		return fmt.Sprintf("%d groups are approved, and no more can be", ledger.MaxApprovals)
	}
	return ""
}

func (v *Observation) overBecause(l *ledger.Ledger) string {
	name, how := revision.Name(v.Object.Name, l.Update.Hash), "is complete"
	if l.Abort != nil {
		how = "was aborted"
	}
	return "the rollout of revision " + name + " " + how
}

// requiresApproval reports whether a placementRef lists a group that requires an approval.
func (v *Observation) requiresApproval(group string) bool {
	return slices.ContainsFunc(v.Refs, func(ref placement.Ref) bool {
		return slices.ContainsFunc(placement.StrategyOf(&ref.Strategy).Rings, func(r workv1alpha1.RolloutGroup) bool {
			return r.NeedsApproval() && r.Label() == group
		})
	})
}

// hasStarted reports whether any cluster of a listed group has the update revision.
func (v *Observation) hasStarted(l *ledger.Ledger, group string) bool {
	has := map[string]bool{}
	for i := range v.Notes.Works {
		if w := &v.Notes.Works[i]; w.Hash() == l.Update.Hash {
			has[w.Cluster()] = true
		}
	}
	owners := placement.Owners(v.Refs)
	for i := range v.Refs {
		for _, cluster := range clustersOf(&v.Refs[i], group) {
			if has[cluster] && owners[cluster] == i {
				return true
			}
		}
	}
	return false
}

// clustersOf returns the clusters of a listed group of a placementRef.
func clustersOf(ref *placement.Ref, group string) (clusters []string) {
	strategy := placement.StrategyOf(&ref.Strategy)
	if ref.Placement == nil {
		return nil
	}
	for i := range ref.Placement.Groups {
		g := &ref.Placement.Groups[i]
		if at := strategy.RingOf(g); at < len(strategy.Rings) && strategy.Rings[at].Label() == group {
			clusters = append(clusters, g.Clusters...)
		}
	}
	return clusters
}
