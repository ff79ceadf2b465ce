package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// settleCurrent sees to it that status.currentRevision names a revision that may be the current one: an abort goes back to it. What counts is
// written on the revision first (R16); the pass ends with that. What does not count is put back (R6).
func (r *revisionReconciler) settleCurrent(ctx context.Context, p *pass) (wrote bool, err error) {
	named := p.revisions.CurrentRevision
	// A condition that contradicts what this process itself judged is somebody else's.
	told := status.Told(p.object.Status.Conditions) == status.Complete && r.memory.owners.incomplete(p.key) != named
	complete := told || r.memory.owners.completed(p.key) == named
	if rev := p.history.ByHash(named); rev != nil && !rev.WasCurrent() && named == p.revisions.UpdateRevision && complete {
		// Its rollout was complete when the revision could not be written, or could not be read. A relapse since must not become an abort.
		return false, nil
	}
	claim := p.history.JudgeCurrent(named, p.revisions.UpdateRevision)
	if claim.Record {
		return r.stableIs(ctx, p, p.history.ByHash(claim.Hash))
	}
	p.revisions.CurrentRevision = claim.Hash
	if claim.Problem != "" {
		r.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventCurrentRevisionIgnored, "Observe",
			fmt.Sprintf("status.currentRevision is %q, and the hub puts %q back: %s", named, claim.Hash, claim.Problem))
	}
	return false, nil
}

// remember sees to it that the update revision remembers what the other live ones are, should somebody delete them (R7). The pass ends
// where that is written: once after an upgrade, as a revision that is created remembers it from the start.
func (r *revisionReconciler) remember(ctx context.Context, p *pass, update *revision.Revision) (bool, error) {
	if !update.Lacks(p.ledgerOf(update.Hash, p.liveHashes())) {
		return true, nil
	}
	ledger, err := p.ledgerOf(update.Hash, p.remembered()).Encode()
	if err != nil {
		return false, err
	}
	err = r.patchRevision(ctx, p, update, map[string]any{workv1alpha1.AnnotationDigests: ledger}, nil)
	if err == nil || apierrors.IsConflict(err) {
		return false, err
	}
	p.problem(r.refused(p, err))
	return true, nil
}

// ledgerOf is what a revision shall remember of others. That the current one was there is remembered also where nothing tells what it held.
func (p *pass) ledgerOf(hash string, others sets.Set[string]) revision.Ledger {
	ledger := p.history.LedgerOf(hash, others)
	if current := p.revisions.CurrentRevision; current != "" && current != hash {
		if _, known := ledger[current]; !known {
			ledger[current] = revision.Entry{}
		}
	}
	return ledger
}

// current is the stable revision, or why there is none.
func (p *pass) current() (*rollout.Revision, string) {
	hash := p.revisions.CurrentRevision
	switch {
	case p.noHistory != "":
		return nil, p.noHistory
	case hash == "":
		return nil, p.noCurrent()
	}
	found := p.history.ByHash(hash)
	switch {
	case found == nil:
		return nil, fmt.Sprintf("there is no ControllerRevision %s to go back to: it was deleted, and no ManifestWork of a selected cluster has the content that was recorded for it; "+
			"put a good template into the spec", revision.Name(p.object.Name, hash))
	case found.Err != nil:
		return nil, p.broken(found)
	case p.selectsBeside(found.RecordedOn()):
		return nil, fmt.Sprintf("revision %s was found on cluster %s alone when this hub first saw the object, and no rollout has completed since: other clusters are not "+
			"rolled back to it; put a good template into the spec", found.Object.Name, found.RecordedOn())
	}
	return rollout.NewRevision(found), ""
}

// selectsBeside reports whether other clusters are selected than the one that alone told of a revision: its agent does not decide for them (R6).
func (p *pass) selectsBeside(only string) bool {
	if only == "" {
		return false
	}
	for cluster := range rollout.Owners(p.refs) {
		if cluster != only {
			return true
		}
	}
	return false
}

// noCurrent says why no revision is the stable one, and how a person names it (R6).
func (p *pass) noCurrent() string {
	const none = "there is no stable revision to go back to: "
	var others []string
	adopted := false
	for i := range p.history.Revisions {
		rev := &p.history.Revisions[i]
		adopted = adopted || rev.Recorded()
		if rev.Err == nil && (p.update == nil || rev.Hash != p.update.Hash) {
			others = append(others, rev.Hash)
		}
	}
	name := ""
	if len(others) > 0 {
		name = fmt.Sprintf("; if you know which one was stable, write its hash into status.currentRevision (%s), or put a good template into the spec", firstOf(others))
	}
	switch surpassed := p.history.LatestSurpassed(); {
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
