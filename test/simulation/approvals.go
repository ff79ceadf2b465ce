package simulation

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
)

// approvals are the approvals of users, recorded outside the hub.
type approvals struct {
	// asked contains each "<hash>/<group>" that a user has approved since the rollout began.
	asked map[string]bool
	// given contains the approvals of all rollouts, because a backup may restore them.
	given map[string]bool
	// lost is true if both places of a ledger were lost. The hub may remember the ledger, and write it again.
	lost bool
	// before is the ledger after the last write.
	before ledger.Ledger
}

// Approve adds an approval to the status, as a user does.
func (w *World) Approve(group, hash string) {
	w.setApprovals(append(slices.Clone(w.Object().Status.Approvals), workv1alpha1.Approval{
		Group: group, Revision: hash, By: "alice", At: metav1.NewTime(w.Clock.Now()).Rfc3339Copy(),
	}))
	if w.approvals.asked == nil {
		w.approvals.asked, w.approvals.given = map[string]bool{}, map[string]bool{}
	}
	w.approvals.asked[hash+"/"+group], w.approvals.given[hash+"/"+group] = true, true
	w.Tell("user: approves group %s", group)
}

// Withdraw removes approvals from the status, as a user does.
func (w *World) Withdraw(groups ...string) {
	w.setApprovals(slices.DeleteFunc(slices.Clone(w.Object().Status.Approvals), func(a workv1alpha1.Approval) bool { return slices.Contains(groups, a.Group) }))
	w.Tell("user: withdraws the approval of %v", groups)
}

func (w *World) setApprovals(list []workv1alpha1.Approval) {
	w.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"approvals": list}}, true)
}

// forgeApproval approves a group in a status with an invalid ledger. The status contains nothing else, because it may be the only place.
func (w *World) forgeApproval(group string) {
	status := w.Object().Status
	w.patch(ReplicaSets, Namespace, Name, map[string]any{"status": nil}, true)
	w.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{
		"ledger": "{}", "approvals": []workv1alpha1.Approval{{Group: group, Revision: status.UpdateRevision, At: metav1.NewTime(w.Clock.Now())}},
	}}, true)
	w.Tell("status writer: forges an approval of group %s", group)
}

// gave reports whether a user approved a group in the rollout of a revision, or in an earlier rollout that the hub may remember.
func (a *approvals) gave(hash, group string) bool {
	approval := hash + "/" + group
	return a.asked[approval] || a.lost && a.given[approval]
}

// checkApproved checks that the ledger contains only approvals that a user gave for the update revision since its rollout began.
func (w *World) checkApproved() error {
	l, a := w.ledger(), &w.approvals
	a.lost = a.lost || l.Seq < a.before.Seq
	if !l.Begun.Last().Equal(a.before.Begun.Last()) || l.Update.Hash != a.before.Update.Hash {
		for i := range a.before.Approvals {
			delete(a.asked, a.before.Update.Hash+"/"+a.before.Approvals[i].Group)
		}
	}
	a.before = l
	for i := range l.Approvals {
		if group := l.Approvals[i].Group; !a.gave(l.Update.Hash, group) {
			return fmt.Errorf("group %s counts as approved for %s, and no user approved that", group, l.Update.Hash)
		}
	}
	return nil
}

// checkOpened checks that a cluster is started only after a user has approved its group and the groups before it, if they require an
// approval.
func (w *World) checkOpened(owner *workv1alpha1.ManifestWorkReplicaSet, started *workv1.ManifestWork) error {
	rings, l := ringsOf(owner, started.Labels[workv1alpha1.LabelPlacement]), w.ledger()
	if len(rings) == 0 || !l.Ended.IsZero() || l.Begun.AtOnce || owner.Status.CurrentRevision == owner.Status.UpdateRevision {
		return nil
	}
	if slices.ContainsFunc(l.Troubles, func(t ledger.Trouble) bool { return t.Cluster == started.Namespace }) {
		return nil // It was started before, and its work is put back.
	}
	own := ringOf(rings, started.Annotations[workv1alpha1.AnnotationDecisionGroup])
	for i := range rings[:min(own+1, len(rings))] {
		label := rings[i].Label()
		if rings[i].Approval == workv1alpha1.ApprovalRequired && !w.approvals.gave(owner.Status.UpdateRevision, label) {
			return fmt.Errorf("%s is started, and no user approved group %s", started.Namespace, label)
		}
	}
	return nil
}
