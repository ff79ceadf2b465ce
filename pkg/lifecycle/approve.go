package lifecycle

import (
	"fmt"
	"slices"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// obeyApprovals approves decision groups for the update revision, and withdraws approvals. It makes one event for what it can't obey.
func (v *View) obeyApprovals(d *Decision) {
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
		ignored.Once = v.Commands.WithoutApprovals // An older CRD removes the list again and again.
		d.Events = append(d.Events, ignored)
	}
}

// approvalIgnored returns the event for changes of status.approvals that the hub reverts.
func approvalIgnored(problems []string) Event {
	note := "status.approvals was changed, and the hub reverted the change: " + problems[0]
	if more := len(problems) - 1; more > 0 {
		note += fmt.Sprintf("; and %d more", more)
	}
	return Event{Warning: true, Reason: workv1alpha1.EventApprovalIgnored, Action: "Approve", Note: note}
}

// unapprovable returns the reason why a group can't be approved; empty if it can.
func (v *View) unapprovable(l *ledger.Ledger, group string) string {
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

// overBecause returns why a rollout is not in progress.
func (v *View) overBecause(l *ledger.Ledger) string {
	name, how := revision.Name(v.Object.Name, l.Update.Hash), "is complete"
	if l.Abort != nil {
		how = "was aborted"
	}
	return "the rollout of revision " + name + " " + how
}

// requiresApproval reports whether a placementRef lists a group that requires an approval.
func (v *View) requiresApproval(group string) bool {
	return slices.ContainsFunc(v.Refs, func(ref placement.Ref) bool {
		return slices.ContainsFunc(ref.Strategy.Groups, func(g workv1alpha1.RolloutGroup) bool {
			return g.Approval == workv1alpha1.ApprovalRequired && ledger.GroupID(&g) == group
		})
	})
}

// hasStarted reports whether any cluster of an approved group has the update revision.
func (v *View) hasStarted(l *ledger.Ledger, group string) bool {
	owners := placement.Owners(v.Refs)
	for i := range v.Works {
		w := &v.Works[i]
		ref, selected := owners[w.Cluster()]
		if selected && w.Hash() == l.Update.Hash && listed(&v.Refs[ref], group, w.Cluster()) {
			return true
		}
	}
	return false
}

// listed reports whether a placementRef lists a group that has a cluster.
func listed(ref *placement.Ref, group, cluster string) bool {
	for i := range ref.Strategy.Groups {
		entry := &ref.Strategy.Groups[i]
		if group == "" || ledger.GroupID(entry) != group {
			continue
		}
		for j := range ref.Placement.Groups {
			g := &ref.Placement.Groups[j]
			of := entry.GroupName != "" && g.Name == entry.GroupName || entry.GroupName == "" && g.Index == *entry.GroupIndex
			if of && slices.Contains(g.Clusters, cluster) {
				return true
			}
		}
	}
	return false
}

// approvals returns the approvals in a ledger, for the record of its revision.
func approvals(l *ledger.Ledger) (out []revision.Approval) {
	for _, a := range l.Approvals {
		out = append(out, revision.Approval(a))
	}
	return out
}
