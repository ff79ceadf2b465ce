package ledger

import (
	"cmp"
	"slices"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// MaxApprovals is the largest number of approvals in a ledger, as in the CRD.
const MaxApprovals = 100

// MaxGroup is the maximum length of a decision group's name in bytes: OCM stores it as the value of a label.
const MaxGroup = 63

// Approve adds an approval. It has no effect if the group is already approved.
func (l *Ledger) Approve(approval *revision.Approval) {
	if l.Approved(approval.Group) {
		return
	}
	approvals := append(slices.Clone(l.Approvals), *approval)
	slices.SortFunc(approvals, func(a, b revision.Approval) int { return cmp.Compare(a.Group, b.Group) })
	l.Approvals = approvals
}

// Withdraw removes the approval of a group.
func (l *Ledger) Withdraw(group string) {
	l.Approvals = slices.DeleteFunc(slices.Clone(l.Approvals), func(a revision.Approval) bool { return a.Group == group })
}

// approvals returns the approvals as the status lists them; nil if there are none.
func (l *Ledger) approvals() (out []workv1alpha1.Approval) {
	for i := range l.Approvals {
		a := &l.Approvals[i]
		out = append(out, workv1alpha1.Approval{Group: a.Group, Revision: l.Update.Hash, By: a.By, At: seconds(a.At)})
	}
	return out
}

// approvedIn returns the approvals of a status, for FromStatus.
func approvedIn(status *objectStatus) (out []revision.Approval) {
	for i := range status.Approvals {
		if a := &status.Approvals[i]; a.Revision == status.UpdateRevision {
			out = append(out, revision.Approval{Group: a.Group, By: a.By, At: a.At.Time})
		}
	}
	return out
}
