package controller

import (
	"fmt"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

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
	}
	return rollout.NewRevision(found), ""
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
