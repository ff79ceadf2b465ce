package view

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// VerbApprove approves a decision group.
const VerbApprove Verb = "approve"

// Approval is a decision group that users approved for the update revision, or that waits for an approval.
type Approval struct {
	Group string `json:"group"`
	// Waits is true if the group waits only for an approval. By and At are empty then.
	Waits bool      `json:"waits,omitempty"`
	By    string    `json:"by,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// Text describes the approval.
func (a *Approval) Text() string {
	if a.Waits {
		return fmt.Sprintf("group %s waits for an approval", a.Group)
	}
	return fmt.Sprintf("group %s was approved%s at %s", a.Group, phrase(" by ", a.By), a.At.UTC().Format(time.RFC3339))
}

// ApprovalsOf returns the approvals of the rollout, and the groups that wait for one.
func ApprovalsOf(set *workv1alpha1.ManifestWorkReplicaSet) (found []Approval) {
	for i := range set.Status.Approvals {
		a := &set.Status.Approvals[i]
		found = append(found, Approval{Group: a.Group, By: a.By, At: a.At.Time})
	}
	for _, group := range waiting(set) {
		found = append(found, Approval{Group: group, Waits: true})
	}
	return found
}

// waiting returns the groups that wait for an approval. The hub may not have seen an approval yet.
func waiting(set *workv1alpha1.ManifestWorkReplicaSet) []string {
	return slices.DeleteFunc(slices.Clone(set.Status.AwaitingApproval), func(group string) bool { return approved(set, group) })
}

// approved reports whether status.approvals lists a group.
func approved(set *workv1alpha1.ManifestWorkReplicaSet, group string) bool {
	return slices.ContainsFunc(set.Status.Approvals, func(a workv1alpha1.Approval) bool { return a.Group == group })
}

// RecordedApprovals returns the approvals in the record of a revision.
func RecordedApprovals(record *revision.Record) (found []Approval) {
	for _, a := range record.Approvals {
		found = append(found, Approval{Group: a.Group, By: a.By, At: a.At})
	}
	return found
}

// Approvable returns the group to approve: the given group or, if it is empty, the only group that waits. It returns an error if that group
// can't be approved.
func Approvable(set *workv1alpha1.ManifestWorkReplicaSet, group string) (string, error) {
	waits := waiting(set)
	switch {
	case lacksLedger(set):
		return "", fmt.Errorf("the rollout of %q can't be approved: %s", set.Name, noCommands)
	case set.Status.AbortedTime != nil:
		return "", fmt.Errorf("the rollout of %q was aborted: there is nothing to approve", set.Name)
	case StateOf(set) == workv1alpha1.StateComplete:
		return "", fmt.Errorf("the rollout of %q is complete: there is nothing to approve", set.Name)
	case group == "" && len(waits) == 1:
		return waits[0], nil
	case group == "" && len(waits) > 1:
		return "", fmt.Errorf("several groups of %q wait for an approval: %s; name one with --group", set.Name, strings.Join(waits, ", "))
	}
	left := Unapproved(set)
	others := cmp.Or(strings.Join(left, ", "), "none")
	switch {
	case group == "":
		return "", fmt.Errorf("no group of %q waits for an approval; groups that will need one: %s", set.Name, others)
	case !slices.Contains(requiredApprovals(set), group):
		return "", fmt.Errorf("group %q of %q needs no approval; groups that need one: %s", group, set.Name, others)
	case !slices.Contains(left, group):
		given := ApprovalsOf(set)
		at := slices.IndexFunc(given, func(a Approval) bool { return a.Group == group })
		return "", errors.New(given[at].Text())
	}
	return group, nil
}

// Unapproved returns the groups that need an approval and do not have one, in the order of the spec.
func Unapproved(set *workv1alpha1.ManifestWorkReplicaSet) []string {
	return slices.DeleteFunc(requiredApprovals(set), func(group string) bool { return approved(set, group) })
}

// requiredApprovals returns the groups that need an approval, in the order of the spec.
func requiredApprovals(set *workv1alpha1.ManifestWorkReplicaSet) (groups []string) {
	for i := range set.Spec.PlacementRefs {
		for _, g := range set.Spec.PlacementRefs[i].RolloutStrategy.Groups {
			if label := g.Label(); g.NeedsApproval() && !slices.Contains(groups, label) {
				groups = append(groups, label)
			}
		}
	}
	return groups
}

// approvalEffect describes the approval of a group.
func (o *Objects) approvalEffect(e *Effect, group string) {
	set := o.ReplicaSet
	update := o.revisionAt(set.Status.UpdateRevision)
	number, when := o.number(update.Hash), "when its turn comes"
	if slices.Contains(set.Status.AwaitingApproval, group) {
		when = "now"
	}
	e.Question = fmt.Sprintf("Approve revision %s of %s/%s for group %s?", number, set.Namespace, set.Name, group)
	e.Then = fmt.Sprintf("The hub rolls revision %s%s%s out to the clusters of group %s %s, with the rollout strategy.",
		number, phrase(" by ", update.CreatedBy), parenthesis(update.ChangeCause), group, when)
	if len(set.Status.Held) > 0 {
		e.Then += " Clusters that are on hold or outside their windows still wait."
	}
}

func parenthesis(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// approvalOffers returns the action for each group that waits for an approval. If no group waits, it returns one action with the reason. It
// returns no action if no group requires an approval.
func approvalOffers(set *workv1alpha1.ManifestWorkReplicaSet) (offers []Offer) {
	if len(requiredApprovals(set)) == 0 {
		return nil
	}
	waits := waiting(set)
	if len(waits) == 0 {
		waits = []string{""}
	}
	for _, group := range waits[:min(len(waits), maxApprovalOffers)] {
		offer := Offer{Verb: VerbApprove, Group: group}
		if _, err := Approvable(set, group); err != nil {
			offer.Not = err.Error()
		}
		offers = append(offers, offer)
	}
	return offers
}

// maxApprovalOffers is the maximum number of groups that are offered for approval at the same time.
const maxApprovalOffers = 8
