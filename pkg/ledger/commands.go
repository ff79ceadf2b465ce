package ledger

import (
	"slices"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Commands are the commands that users gave by changing a status.
type Commands struct {
	// Abort is the abort that a user requested by setting status.abortedTime; nil if there is no such request. It has no time: only the
	// hub's clock counts.
	Abort *revision.Abort
	// Retry is true if a user removed status.abortedTime, to retry the aborted rollout.
	Retry bool
	// RetryClusters are the clusters whose failures a user removed from status.failures.
	RetryClusters []string
	// WithoutFailures is true if the whole list of failures is missing. A missing list retries nothing, because an older CRD may have dropped
	// it.
	WithoutFailures bool
	// Approve are the approvals that a user added to status.approvals for the update revision. ApproveOther are the groups of the entries for
	// other revisions.
	Approve      []revision.Approval
	ApproveOther []string
	// Withdraw are the groups whose approvals a user removed. WithoutApprovals is true if the whole list is missing. A missing list withdraws
	// nothing.
	Withdraw         []string
	WithoutApprovals bool
	// Name is the hash in status.currentRevision. Names is true if a user changed that field.
	Name  string
	Names bool
}

// CommandsIn returns the commands in a status: its differences from the projection of its own ledger. Call it only for a status whose
// ledger is valid. A missing list of failures is not a command, because an older CRD may have dropped it.
func CommandsIn(status *objectStatus, own *Ledger) Commands {
	var c Commands
	switch aborted := status.AbortedTime != nil; {
	case aborted && own.Abort == nil:
		c.Abort = &revision.Abort{By: bounded(status.AbortedBy), Said: bounded(status.AbortReason)}
	case !aborted && own.Abort != nil:
		c.Retry = true
	}
	if status.Failures != nil && own.Abort == nil {
		for _, failure := range own.failures(Failed) {
			if !slices.ContainsFunc(status.Failures, func(f workv1alpha1.ClusterFailure) bool { return f.Cluster == failure.Cluster }) {
				c.RetryClusters = append(c.RetryClusters, failure.Cluster)
			}
		}
	}
	c.WithoutFailures = status.Failures == nil && len(own.failures(Failed)) > 0
	c.approvalsIn(status, own)
	c.Name, c.Names = status.CurrentRevision, status.CurrentRevision != own.Current.Hash
	return c
}

// approvalsIn adds the commands in status.approvals. An entry of a group that is already approved changes nothing. A missing list is not a
// command, because an older CRD may have dropped it.
func (c *Commands) approvalsIn(status *objectStatus, own *Ledger) {
	for i := range status.Approvals {
		switch a := &status.Approvals[i]; {
		case own.Update.Hash == "" || a.Revision != own.Update.Hash:
			c.ApproveOther = append(c.ApproveOther, bounded(a.Group))
		case !own.Approved(a.Group):
			c.Approve = append(c.Approve, revision.Approval{Group: bounded(a.Group), By: bounded(a.By), At: storable(a.At.Time)})
		}
	}
	for i := range own.Approvals {
		group := own.Approvals[i].Group
		if !slices.ContainsFunc(status.Approvals, func(a workv1alpha1.Approval) bool { return a.Group == group }) {
			c.Withdraw = append(c.Withdraw, group)
		}
	}
	if status.Approvals == nil {
		c.Withdraw, c.WithoutApprovals = nil, len(own.Approvals) > 0
	}
}

// storable returns the given time, or the latest time that JSON can represent in UTC if that is earlier. A user may set any time.
func storable(at time.Time) time.Time {
	if latest := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC); at.After(latest) {
		return latest
	}
	return at
}

// maxText is the limit in bytes of status.abortedBy and status.abortReason, as in the CRD.
const maxText = 256

func bounded(text string) string { return revision.Shortened(plain.Line(text), maxText) }
