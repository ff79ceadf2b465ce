package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// howToResume is the end of every message about a pause.
const howToResume = "set spec.paused to false to resume"

// SetPaused sets the condition Paused while spec.paused is true, and removes it otherwise. The plan is nil if there is none.
func SetPaused(conditions *[]metav1.Condition, in *Input) {
	setOrRemove(conditions, workv1alpha1.ConditionPaused, paused(in), in.Object.Generation, in.Now)
}

// paused returns the condition that counts the actions that a pause holds back. It is nil if absent.
func paused(in *Input) *metav1.Condition {
	if !in.Object.Spec.Paused {
		return nil
	}
	message := join("spec.paused is true: the hub does not create, change or delete ManifestWorks", heldBack(in), howToResume)
	told := condition(workv1alpha1.ConditionPaused, workv1alpha1.ReasonPaused, message, metav1.ConditionTrue)
	return &told
}

// heldBack names the actions that wait for the end of the pause, and their clusters.
func heldBack(in *Input) string {
	if in.Plan == nil || in.Plan.Held == nil {
		return templateWaits(in)
	}
	held := in.Plan.Held
	var revisions, labels, deletions, parts []string
	for i := range held.Writes {
		switch w := &held.Writes[i]; w.Action {
		case rollout.Create, rollout.Update:
			if superseded(in) || w.StandIn {
				continue
			}
			revisions = append(revisions, w.Cluster)
		default:
			labels = append(labels, w.Cluster)
		}
	}
	for i := range held.Deletes {
		deletions = append(deletions, held.Deletes[i].Work.Cluster())
	}
	part := func(what string, clusters []string) {
		if len(clusters) > 0 {
			slices.Sort(clusters)
			parts = append(parts, what+" on "+rollout.Names(clusters))
		}
	}
	part(revisionWritten(in), revisions)
	part("labels", labels)
	part("the deletion of the ManifestWork", deletions)
	works := ""
	if len(parts) > 0 {
		works = "held back: " + strings.Join(parts, ", ")
	}
	if text := join(abortWaits(in), works, lostWorks(in), templateWaits(in)); text != "" {
		return text
	}
	return "no changes are held back"
}

// lostWorks names the clusters whose agents may have lost a work.
func lostWorks(in *Input) string {
	if len(in.Plan.Lost) == 0 {
		return ""
	}
	return "no ManifestWork on " + rollout.Names(in.Plan.Lost) + ": an agent that lost its ManifestWork will remove the objects"
}

// superseded reports whether the rollout of the template in the spec replaces the held one when the pause ends. An abort in progress
// finishes first.
func superseded(in *Input) bool { return in.TemplatePending && !in.Snapshot.Aborted }

// revisionWritten describes the held writes of a revision. An abort has no such writes if there is no revision to return to.
func revisionWritten(in *Input) string {
	switch {
	case in.Plan.Desired == nil:
		return ""
	case in.Snapshot.Aborted:
		return "the return to revision " + in.Plan.Desired.Name
	}
	return "revision " + in.Plan.Desired.Name
}

// abortWaits returns the message that the rollout will be aborted, and what can prevent this.
func abortWaits(in *Input) string {
	if in.Plan.Held.Abort == nil || superseded(in) {
		return ""
	}
	return fmt.Sprintf("the rollout of revision %s has failed, and will be aborted after the pause unless these clusters recover: %s",
		in.Snapshot.Update.Name, in.Plan.Held.Abort.Reason)
}

// templateWaits returns the message that the template in the spec is not the one that is being rolled out; empty if they are the same.
func templateWaits(in *Input) string {
	if !in.TemplatePending {
		return ""
	}
	return fmt.Sprintf("spec.manifestWorkTemplate differs from revision %s, and will be rolled out after the pause", in.Snapshot.Update.Name)
}

// pauseNote returns the note about a pause that holds back actions, for Progressing and the conditions that repeat its message; empty for
// none.
func pauseNote(in *Input) string {
	if !in.Object.Spec.Paused || (!in.TemplatePending && in.Stage != RollingOut && in.Stage != Aborting) {
		return ""
	}
	return join("paused", templateWaits(in), howToResume)
}

// waits reports whether only the pause keeps Progressing from being True.
func waits(in *Input) bool {
	return in.Object.Spec.Paused && (in.Stage == RollingOut || in.TemplatePending && in.Stage != Aborting)
}
