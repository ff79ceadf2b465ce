package view

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Verb is an action of a user on a rollout.
type Verb string

// The verbs.
const (
	VerbUndo   Verb = "undo"
	VerbAbort  Verb = "abort"
	VerbRetry  Verb = "retry"
	VerbPause  Verb = "pause"
	VerbResume Verb = "resume"
)

// Effect describes the writes of an action.
type Effect struct {
	Verb Verb `json:"verb"`
	// Question asks the user to confirm. It names the revisions, so it changes if the action would have another effect.
	Question string `json:"question"`
	// Then describes what the hub does.
	Then string `json:"then"`
	// Revision is the revision that an undo restores.
	Revision int64 `json:"revision,omitempty"`
	// Clusters is the number of clusters to which the hub will write. It is zero for an approval.
	Clusters int `json:"clusters"`
}

// EffectOf returns the effect of an action, as far as the objects show it. revision is the revision that an undo restores. clusters are the
// clusters of a retry, empty for all failed clusters, or the group of an approval. It does not check whether the action is possible.
func EffectOf(o *Objects, verb Verb, revision *Revision, clusters []string) Effect {
	o = Prepared(o)
	e := Effect{Verb: verb}
	status, name, selected := &o.ReplicaSet.Status, o.ReplicaSet.Namespace+"/"+o.ReplicaSet.Name, Selected(o.ReplicaSet)
	update, current := o.revisionAt(status.UpdateRevision), CurrentNumber(o)
	number := o.number(update.Hash)
	says := func(n int, question, then string) { e.Clusters, e.Question, e.Then = max(0, n), question, then }
	switch missing, failed := selected-o.having(&update), len(status.Failures); {
	case verb == VerbAbort:
		others, written := o.others(current, number)
		says(o.having(&update)+others, fmt.Sprintf("Abort the rollout of revision %s of %s?", number, name),
			o.returned(&update, current, number)+written+" The spec does not change.")
	case verb == VerbRetry && len(clusters) > 0:
		says(len(clusters), fmt.Sprintf("Retry %s of %s?", countOf(len(clusters)), name),
			fmt.Sprintf("The hub gives %s a new deadline%s.", countOf(len(clusters)), o.continues(clusters)))
	case verb == VerbRetry && status.AbortedTime != nil:
		says(missing, fmt.Sprintf("Roll out the aborted revision %s of %s again?", number, name),
			fmt.Sprintf("The hub rolls revision %s out to %s, with the rollout strategy.", number, countOf(missing)))
	case verb == VerbRetry:
		says(failed, fmt.Sprintf("Retry all %s of %s that failed?", countOf(failed), name),
			fmt.Sprintf("The hub gives %s a new deadline%s.", countOf(failed), o.continues(slices.Collect(maps.Keys(o.failures())))))
	case verb == VerbUndo:
		e.Revision = revision.Number
		n, then := o.restoredBy(revision)
		says(n, fmt.Sprintf("Restore the template of revision %d in %s?", revision.Number, name), then)
	case verb == VerbApprove && len(clusters) > 0:
		o.approvalEffect(&e, clusters[0])
	case verb == VerbPause:
		says(0, fmt.Sprintf("Pause the rollout of %s?", name),
			"The hub writes to no cluster until the rollout is resumed. Clusters that have the revision keep it."+suspended(o))
	case verb == VerbResume:
		n, outcome, then := o.resumed(&update, missing)
		says(n, fmt.Sprintf("Resume %s, and %s?", name, outcome), then)
	}
	o.afterEdits(&e, number)
	return e
}

// afterEdits corrects the effect of an action for a template in the spec that is newer than the update revision, and for a pause.
func (o *Objects) afterEdits(e *Effect, number string) {
	switch newer := o.edited(); {
	case newer && e.Verb == VerbAbort:
		e.Then += " It then rolls out the template in the spec, which is newer."
	case newer && (e.Verb == VerbRetry || e.Verb == VerbApprove):
		e.Then = fmt.Sprintf("The template in the spec is newer: the hub rolls it out instead of revision %s.", number)
	}
	if o.ReplicaSet.Spec.Paused && e.Verb != VerbPause && e.Verb != VerbResume {
		e.Then = "The rollout is paused: nothing happens until it is resumed. Then: " + e.Then
	}
}

// others returns how many clusters have neither of two revisions, and what an abort does there.
func (o *Objects) others(current, number string) (n int, written string) {
	if n = o.withNeither(current, number); n > 0 {
		written = fmt.Sprintf(" It also writes revision %s to %s with another revision or no ManifestWork.", current, countOf(n))
	}
	return n, written
}

// withNeither returns how many clusters have neither of two revisions. If the clusters were not read, it uses the counts in the status.
func (o *Objects) withNeither(current, number string) int {
	if _, known := o.clusters(); known && o.Placements != nil {
		return o.count(func(c *Cluster) bool { return c.Wrote != current && c.Wrote != number })
	}
	status := &o.ReplicaSet.Status
	n := max(0, status.Summary.DesiredTotal-status.Summary.Total)
	for i := range status.Revisions {
		if r := &status.Revisions[i]; r.Hash != status.CurrentRevision && r.Hash != status.UpdateRevision {
			n += int(r.Clusters)
		}
	}
	return n
}

// continues describes the rollout after a retry of failed clusters.
func (o *Objects) continues(clusters []string) string {
	if s := o.snapshot(); s != nil {
		then := *s
		then.Records.Failures, then.Retried = maps.Clone(s.Records.Failures), make(map[string]time.Time)
		maps.Copy(then.Retried, s.Retried)
		retried := map[string]bool{}
		for _, cluster := range clusters {
			retried[s.Records.Failures[cluster].Placement] = true
			delete(then.Records.Failures, cluster)
			then.Retried[cluster] = s.Now
		}
		for i, ref := range rollout.Decide(&then).Refs {
			if ref.Halted && retried[s.Refs[i].Name] {
				return ", and starts no other clusters until enough clusters recover"
			}
		}
	}
	return ", and continues the rollout"
}

// restoredBy returns the number of clusters to which the hub writes after an undo, and a description of the hub's action.
func (o *Objects) restoredBy(r *Revision) (clusters int, then string) {
	if r.Hash == o.ReplicaSet.Status.UpdateRevision && o.aborted() {
		return 0, "The rollout of this revision stays aborted. Retry it to roll it out again."
	}
	decided, target := o.ledger(), ledger.Named{Hash: r.Hash}
	history := o.history()
	if found := history.ByHash(r.Hash); found != nil {
		target.Digest = found.Digest
	}
	o.observed(decided).Begin(&decided, target)
	if decided.Abort != nil {
		return 0, "The hub keeps the revision aborted, because abortedRevisionPolicy is Hold. Retry it to roll it out."
	}
	clusters = Selected(o.ReplicaSet) - o.having(r)
	added := o.count(func(c *Cluster) bool { return c.Wrote == "" })
	switch atOnce := r.Current || decided.Begun.AtOnce; {
	case clusters <= 0:
		return 0, "The hub writes nothing: every ManifestWork has this template already."
	case atOnce && added == 0:
		return clusters, fmt.Sprintf("The hub writes the template at once to %s. It ignores the rollout strategy.", countOf(clusters))
	case atOnce && added < clusters:
		return clusters, fmt.Sprintf("The hub writes the template at once to %s, and ignores the rollout strategy. "+
			"It then rolls it out to %s without a ManifestWork, with the rollout strategy.", countOf(clusters-added), countOf(added))
	}
	return clusters, fmt.Sprintf("The hub rolls the template out to %s, with the rollout strategy.", countOf(clusters))
}

// returned describes the hub's action after an abort: it returns the clusters of a revision to the current revision.
func (o *Objects) returned(update *Revision, current, number string) string {
	if known := len(o.Works) > 0 || update.Now >= 0; known && o.having(update) == 0 {
		return fmt.Sprintf("The hub keeps revision %s, and writes it to any cluster that already has revision %s.", current, number)
	}
	return fmt.Sprintf("The hub writes revision %s at once to %s revision %s. It ignores the rollout strategy.",
		current, o.affected(update), number)
}

// resumed returns the number of clusters to which the hub writes after a pause. It returns the outcome for a question and as a description.
// missing is the number of clusters without the update revision.
func (o *Objects) resumed(update *Revision, missing int) (clusters int, outcome, then string) {
	outlook := o.outlook()
	switch {
	case o.edited():
		clusters, then = o.rolledOut()
		if n := o.having(update); o.aborted() && n > 0 && !lacksCurrent(o.ReplicaSet) {
			if found := o.inSpec(); found == nil || found.Hash != o.ReplicaSet.Status.CurrentRevision {
				then = fmt.Sprintf("The hub first returns %s to revision %s. ", countOf(n), CurrentNumber(o)) + then
			}
		}
		return clusters, "apply the template in the spec", then
	case o.aborted() && (o.having(update) == 0 || lacksCurrent(o.ReplicaSet)):
		return 0, "leave the rollout aborted",
			"The rollout stays aborted: nothing starts until the template changes or a user retries."
	case o.aborted():
		clusters = o.having(update)
		return clusters, "return to revision " + CurrentNumber(o), fmt.Sprintf(
			"The rollout is aborted: the hub returns %s to revision %s, and starts nothing new.",
			countOf(clusters), CurrentNumber(o))
	case outlook != nil && outlook.ahead.Abort != nil && !outlook.ahead.Abort.At.After(o.Now):
		clusters = o.having(update)
		return clusters, "abort its failed rollout", fmt.Sprintf(
			"The rollout has failed: unless clusters recover, the hub aborts it, and returns %s to revision %s.",
			countOf(clusters), CurrentNumber(o))
	case missing <= 0:
		return 0, "continue its rollout", "The hub writes to the clusters again. All of them have the revision."
	}
	return missing, "continue its rollout", fmt.Sprintf("The hub continues the rollout to %s, with the rollout strategy.", countOf(missing))
}

// rolledOut returns the number of clusters to which the hub writes when it rolls out the template in the spec, and a description of the
// hub's action.
func (o *Objects) rolledOut() (clusters int, then string) {
	if found := o.inSpec(); found != nil {
		known := o.revisionAt(found.Hash)
		return o.restoredBy(&known)
	}
	return Selected(o.ReplicaSet), "The hub rolls out the template in the spec, with the rollout strategy."
}

// inSpec returns the revision with the template in the spec; nil if there is none yet.
func (o *Objects) inSpec() *revision.Revision {
	digest, err := revision.DigestOf(&o.ReplicaSet.Spec.ManifestWorkTemplate)
	if err != nil {
		return nil
	}
	history := o.history()
	return history.ByDigest(digest)
}

// affected describes the clusters that have a revision.
func (o *Objects) affected(r *Revision) string {
	switch n := o.having(r); {
	case len(o.Works) == 0 && r.Now < 0:
		return "every cluster that has"
	case n == 1:
		return "1 cluster that has"
	default:
		return countOf(n) + " that have"
	}
}

// suspended describes the effect of a pause on aborts.
func suspended(o *Objects) string {
	switch {
	case StateOf(o.ReplicaSet) == workv1alpha1.StateAborting:
		return " The abort stops where it is."
	case o.aborted():
		return ""
	}
	return " Aborts are suspended: deadlines keep running, and an abort that is due on resume happens at once."
}

// revisionAt returns a revision. If the status does not list the revision, the number of its clusters is unknown.
func (o *Objects) revisionAt(hash string) Revision {
	for _, r := range Revisions(o) {
		if r.Hash == hash {
			return r
		}
	}
	return Revision{Hash: hash, Now: -1}
}

// having returns how many clusters have a revision. It prefers the works, which are newer than the status.
func (o *Objects) having(r *Revision) int {
	if len(o.Works) == 0 {
		return int(max(0, r.Now))
	}
	return work.Having(o.Works, r.Hash)
}

// count returns how many of the clusters, if they are known, meet a condition.
func (o *Objects) count(holds func(*Cluster) bool) (n int) {
	clusters, known := o.clusters()
	for i := range clusters {
		if known && holds(&clusters[i]) {
			n++
		}
	}
	return n
}

func countOf(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}

// Offer is an action that applies to the state of a rollout.
type Offer struct {
	Verb Verb `json:"verb"`
	// Group is the decision group of an approval.
	Group string `json:"group,omitempty"`
	// Not is the reason why the action does not apply; empty if it applies.
	Not string `json:"not,omitempty"`
}

// Offers returns all actions, and the reasons why some of them do not apply.
func Offers(o *Objects) []Offer {
	_, undo := UndoTarget(o, 0, Allowed{})
	set := o.ReplicaSet
	var offers []Offer
	for _, action := range []struct {
		verb Verb
		not  error
	}{
		{VerbUndo, undo}, {VerbAbort, Abortable(set)}, {VerbRetry, Retriable(set)},
		{VerbPause, Pausable(set, true)}, {VerbResume, Pausable(set, false)},
	} {
		offer := Offer{Verb: action.verb}
		if action.not != nil {
			offer.Not = action.not.Error()
		}
		offers = append(offers, offer)
	}
	offers = append(offers, approvalOffers(set)...)
	if err := Actionable(set); err != nil {
		for i := range offers {
			offers[i].Not = err.Error()
		}
	}
	return offers
}

// Actionable returns an error if no action applies to an object, because it is being deleted.
func Actionable(set *workv1alpha1.ManifestWorkReplicaSet) error {
	if set.DeletionTimestamp.IsZero() {
		return nil
	}
	return fmt.Errorf("manifestworkreplicasets %q is being deleted: no action can change its rollout", set.Name)
}

// Pausable returns an error if a rollout can't be paused or resumed.
func Pausable(set *workv1alpha1.ManifestWorkReplicaSet, paused bool) error {
	if set.Spec.Paused != paused {
		return nil
	}
	return fmt.Errorf("manifestworkreplicasets %q is %s", set.Name, map[bool]string{true: "already paused", false: "not paused"}[paused])
}

// noCommands is the reason why the hub accepts no commands from a status without a ledger.
const noCommands = "the status has no ledger, so the hub accepts no commands from it: wait until the hub has written the ledger; if " +
	status.LedgerDropped + ", apply the CRD that came with the hub"

// lacksLedger reports whether the status of an object that was rolled out has no ledger: the API server drops the ledger, or the status was
// lost.
func lacksLedger(set *workv1alpha1.ManifestWorkReplicaSet) bool {
	return set.Status.Ledger == "" && meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.ConditionProgressing) != nil
}

// TakesRetries returns an error if the hub does not accept a retry from the status.
func TakesRetries(set *workv1alpha1.ManifestWorkReplicaSet) error {
	if lacksLedger(set) {
		return fmt.Errorf("the rollout of %q can't be retried: %s", set.Name, noCommands)
	}
	return nil
}

// Retriable returns an error if there is nothing to retry.
func Retriable(set *workv1alpha1.ManifestWorkReplicaSet) error {
	if err := TakesRetries(set); err != nil {
		return err
	}
	if set.Status.AbortedTime == nil && len(set.Status.Failures) == 0 {
		return fmt.Errorf("there is nothing to retry: the rollout of %q was not aborted, and no cluster has failed", set.Name)
	}
	return nil
}

// Abortable returns an error if a rollout can't be aborted.
func Abortable(set *workv1alpha1.ManifestWorkReplicaSet) error {
	switch {
	case lacksLedger(set):
		return fmt.Errorf("the rollout of %q can't be aborted: %s", set.Name, noCommands)
	case set.Status.AbortedTime != nil:
		return fmt.Errorf("the rollout of %q was already aborted at %s", set.Name, set.Status.AbortedTime.UTC().Format(time.RFC3339))
	case set.Status.CurrentRevision == "":
		return fmt.Errorf("the rollout of %q can't be aborted: the status names no stable revision, as in a first rollout; "+
			"to stop the rollout, use `%s`", set.Name, plugin("pause", set.Name))
	case set.Status.CurrentRevision == set.Status.UpdateRevision: // The hub ignores an abort, even before the rollout is complete.
		return fmt.Errorf("there is nothing to abort: the template of %q is already the current revision; "+
			"use `%s` to restore an earlier revision", set.Name, plugin("undo", set.Name))
	case lacksCurrent(set):
		return fmt.Errorf("the rollout of %q can't be aborted: the hub has no ControllerRevision %s to return to; "+
			"see the conditions of the object, put a good template into the spec, or use `%s`",
			set.Name, revision.Name(set.Name, set.Status.CurrentRevision), plugin("pause", set.Name))
	}
	return nil
}

// lacksCurrent reports whether the hub has no ControllerRevision of the stable revision. No cluster can then return to it.
func lacksCurrent(set *workv1alpha1.ManifestWorkReplicaSet) bool {
	isCurrent := func(rev workv1alpha1.RevisionStatus) bool { return rev.Hash == set.Status.CurrentRevision }
	return set.Status.CurrentRevision != "" && set.Status.Ledger != "" && !slices.ContainsFunc(set.Status.Revisions, isCurrent)
}
