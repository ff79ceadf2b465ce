package plan

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// lostStatus rebuilds a status that was lost from what the revisions record: an older CRD prunes it, a restore drops it. A lost status is never
// a retry, and never a first rollout (R16). The current revision may have been deleted at the same time: it is rebuilt next (R7), and the one
// before it does not take its place.
func (c *chain) lostStatus() *Step {
	newest := c.History.Newest()
	if c.Revisions.UpdateRevision != "" || newest == nil {
		return nil
	}
	c.Revisions.UpdateRevision = newest.Hash
	if latest, known := c.History.LastCurrent(); known && c.Revisions.CurrentRevision == "" {
		c.Revisions.CurrentRevision = latest
	}
	if at, aborted := newest.AbortedAt(); aborted && c.Revisions.AbortedTime == nil {
		c.Revisions.AbortedTime = ptr.To(metav1.NewTime(at))
	}
	return nil
}

// settleCurrent makes sure that status.currentRevision names a revision that may be the current one: an abort goes back to it. What counts is
// written on the revision first (R16); the pass ends with that. What does not count is put back (R6).
func (c *chain) settleCurrent() *Step {
	named := c.Revisions.CurrentRevision
	if rev := c.History.ByHash(named); rev != nil && !rev.WasCurrent() && named == c.Revisions.UpdateRevision && c.wasComplete(named) {
		// Its rollout was complete when the revision could not be written, or could not be read. A relapse since must not become an abort.
		return nil
	}
	claim := c.History.JudgeCurrent(named, c.Revisions.UpdateRevision)
	if claim.Record {
		return c.makeCurrent(c.History.ByHash(claim.Hash), "a person named it in status.currentRevision")
	}
	c.Revisions.CurrentRevision = claim.Hash
	if claim.Problem != "" {
		c.Events = append(c.Events, Event{Warning: true, Reason: workv1alpha1.EventCurrentRevisionIgnored, Action: "Observe",
			Note: fmt.Sprintf("status.currentRevision is %q, and the hub puts %q back: %s", named, claim.Hash, claim.Problem)})
	}
	return nil
}

// wasComplete reports whether the conditions, or this process, know that the rollout of a revision was complete. A condition that contradicts
// what this process itself judged is somebody else's.
func (c *chain) wasComplete(hash string) bool {
	told := status.Told(c.Object.Status.Conditions) == status.Complete && c.Memory.Incomplete != hash
	return told || c.Memory.Completed == hash
}

// Absence is why there is no revision to go back to.
type Absence string

// The absences.
const (
	// Present means that there is one.
	Present Absence = ""
	// WithoutHistory means that the hub may not read ControllerRevisions.
	WithoutHistory Absence = "WithoutHistory"
	// NeverComplete means that no rollout was complete yet, or that another hub rolled out since.
	NeverComplete Absence = "NeverComplete"
	// Deleted means that somebody deleted it, and that nothing shows what it held.
	Deleted Absence = "Deleted"
	// Broken means that it can't be read.
	Broken Absence = "Broken"
	// OnOneCluster means that one cluster alone had it, and that others are selected (R6).
	OnOneCluster Absence = "OnOneCluster"
)

// Current is the stable revision, or why there is none.
type Current struct {
	// Revision is nil where there is none.
	Revision *rollout.Revision
	// Absence is why.
	Absence Absence
	// Message says it to a person, with the remedy.
	Message string
}

// Current returns the stable revision for a rollout of update, which may be nil.
func (v *View) Current(hash string, update *rollout.Revision) Current {
	return v.ledger().current(hash, update)
}

func (r recorded) current(hash string, update *rollout.Revision) Current {
	if hash == "" {
		return Current{Absence: NeverComplete, Message: r.neverComplete(update)}
	}
	found := r.History.ByHash(hash)
	switch {
	case found == nil:
		return Current{Absence: Deleted, Message: fmt.Sprintf(
			"there is no ControllerRevision %s to go back to: it was deleted, and no ManifestWork of a selected cluster has the content that was recorded for it; "+
				"put a good template into the spec", revision.Name(r.Object.Name, hash))}
	case found.Err != nil:
		return Current{Absence: Broken, Message: r.broken(found)}
	case r.selectsBeside(found.RecordedOn()):
		return Current{Absence: OnOneCluster, Message: fmt.Sprintf(
			"revision %s was found on cluster %s alone when this hub first saw the object, and no rollout has completed since: other clusters are not "+
				"rolled back to it; put a good template into the spec", found.Object.Name, found.RecordedOn())}
	}
	return Current{Revision: rollout.NewRevision(found)}
}

// selectsBeside reports whether other clusters are selected than the one that alone had a revision: its agent does not decide for them (R6).
func (v *View) selectsBeside(only string) bool {
	if only == "" {
		return false
	}
	for cluster := range rollout.Owners(v.Refs) {
		if cluster != only {
			return true
		}
	}
	return false
}

// neverComplete says why no revision is the stable one, and how a person names it (R6).
func (v *View) neverComplete(update *rollout.Revision) string {
	const none = "there is no stable revision to go back to: "
	var others []string
	adopted := false
	for i := range v.History.Revisions {
		rev := &v.History.Revisions[i]
		adopted = adopted || rev.Recorded()
		if rev.Err == nil && (update == nil || rev.Hash != update.Hash) {
			others = append(others, rev.Hash)
		}
	}
	name := ""
	if len(others) > 0 {
		name = fmt.Sprintf("; if you know which one was stable, write its hash into status.currentRevision (%s), or put a good template into the spec", firstOf(others))
	}
	switch surpassed := v.History.LatestSurpassed(); {
	case surpassed != nil:
		return none + fmt.Sprintf("another hub rolled out after revision %s was the stable one here, and no rollout was complete since", surpassed.Object.Name) + name
	case adopted:
		return none + "no rollout was complete since this hub knows of this object, and the ManifestWorks did not show which revision was stable before: " +
			"exactly one older one must be there, on at least 2 clusters unless only 1 is selected, and 1 of them must have succeeded" + name
	case len(others) > 0:
		return none + "no rollout was complete yet" + name
	}
	return none + "no rollout was complete yet; repair the clusters, or put a good template into the spec"
}

// shown bounds what a message lists.
const shown = 3

func firstOf(texts []string) string {
	if len(texts) > shown {
		return strings.Join(texts[:shown], "; ") + fmt.Sprintf("; and %d more", len(texts)-shown)
	}
	return strings.Join(texts, "; ")
}
