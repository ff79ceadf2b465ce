package status

import (
	"fmt"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// NoCurrent returns the reason why there is no revision to roll back to, and the remedy. It is empty for nil.
func NoCurrent(a *rollout.Absence) string {
	if a == nil {
		return ""
	}
	const none = "there is no stable revision to return to: "
	switch a.Cause {
	case rollout.WithoutHistory:
		return a.Detail
	case rollout.Deleted:
		return fmt.Sprintf("there is no ControllerRevision %s to return to: it was deleted, or the hub could not write it; put a good template into the spec", a.Revision)
	case rollout.Disowned:
		return fmt.Sprintf("there is no ControllerRevision %s to return to: it no longer has an ownerReference to this ManifestWorkReplicaSet; restore the ownerReference, "+
			"or put a good template into the spec", a.Revision)
	case rollout.Unreadable:
		return Unreadable(a.Detail)
	case rollout.OnOneCluster:
		return fmt.Sprintf("revision %s was found only on cluster %s when this hub first saw the object, and no rollout has completed since: other clusters are not "+
			"rolled back to it; put a good template into the spec", a.Revision, a.Cluster)
	case rollout.Surpassed:
		return none + fmt.Sprintf("another hub rolled out a template after revision %s had become stable, and no rollout has completed since", a.Revision) + nameOne(a.Others)
	case rollout.NotAdopted:
		return none + "no rollout has completed since this hub first saw the object, and the ManifestWorks did not show which revision was stable before: " +
			"exactly one older revision must exist, on at least 2 clusters unless only 1 is selected, and it must have succeeded on 1 of them" + nameOne(a.Others)
	}
	if len(a.Others) > 0 {
		return none + "no rollout has completed yet" + nameOne(a.Others)
	}
	return none + "no rollout has completed yet; repair the clusters, or put a good template into the spec"
}

// Unreadable returns the message about a stable revision that can't be read, with the remedy.
func Unreadable(detail string) string {
	return detail + "; nothing can be rolled back to it: put a good template into the spec"
}

// nameOne returns how a user can name the stable revision.
func nameOne(hashes []string) string {
	if len(hashes) == 0 {
		return ""
	}
	return fmt.Sprintf("; if you know which one was stable, write its hash into status.currentRevision (%s), or put a good template into the spec", FirstOf(hashes))
}

// shown is the maximum number of texts that a message lists.
const shown = 3

// FirstOf lists the first texts, and counts the others; empty if there are no texts.
func FirstOf(texts []string) string {
	if len(texts) > shown {
		return strings.Join(texts[:shown], "; ") + fmt.Sprintf("; and %d more", len(texts)-shown)
	}
	return strings.Join(texts, "; ")
}

// abortBlocked returns the reason why a failed rollout with failureStrategy AbortAll is not aborted.
func abortBlocked(in *Input) string {
	switch in.Plan.AbortBlocked {
	case rollout.BlockedByAbsence:
		return "failureStrategy " + deciding(in.Object) + " has no effect: " + NoCurrent(in.Snapshot.Absent)
	case rollout.BlockedByUndo:
		update, current := in.Snapshot.Update.Name, in.Snapshot.Current.Name
		return fmt.Sprintf("failureStrategy %s does not apply to an undo: revision %s was the stable one before revision %s, and the hub does not return to %s "+
			"by itself; fix these clusters, or return every cluster to %s: %s", deciding(in.Object), update, current, current, current, abortCommand(in.Snapshot.Owner))
	}
	return ""
}

// abortCommand returns the command that aborts a rollout. owner is the value of the owner label.
func abortCommand(owner string) string {
	namespace, name, _ := strings.Cut(owner, ".")
	return plain.Command("kubectl", "-n", namespace, "patch", "mwrs", name, "--subresource=status", "--type=merge") +
		` -p '{"status":{"abortedTime":"'$(date -u +%FT%TZ)'"}}'`
}
