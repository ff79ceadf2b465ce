package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// The effects of a pause (R22):
//
//  1. The plan is made as without a pause.
//  2. Its abort, its writes and its deletes move to Held. Its findings remain.
//  3. An abort is held back without writes or deletes, because it would be decided without them.
//  4. Actions that are held back are never carried out: after the pause, a new plan decides.
//  5. Exception: an agent that has lost a work removes its objects after a grace period. The current revision is sent to the cluster if the
//     ledger proves that the cluster had it (replaceLost).

// hold holds back all actions of the plan.
func (p *Plan) hold(s *Snapshot, states []*placementState) {
	held := p.Actions
	p.Held, p.Actions = &held, Actions{}
	if s.Heard != nil && !p.Unknown() {
		p.replaceLost(s, states)
	}
}

// replaceLost sends the current revision to the clusters whose agents have lost it. While the hub knows the works of all selected
// clusters, the ledger records a digest of the clusters that have the current revision. After a restart, some works may be unknown. If the
// digest is unchanged when it includes every cluster without a known work, all these clusters had the current revision.
func (p *Plan) replaceLost(s *Snapshot, states []*placementState) {
	var had []string
	complete, lost := true, map[*member]*placementState{}
	for _, ps := range states {
		for _, m := range ps.members {
			if m.lacksWork() {
				complete, had = false, append(had, m.cluster)
				if s.heardAgent(m.cluster) {
					lost[m] = ps
					p.Lost = append(p.Lost, m.cluster)
				}
			} else if m.isServedBy(s.Current) {
				had = append(had, m.cluster)
			}
		}
	}
	slices.Sort(p.Lost)
	if s.Current == nil {
		return
	}
	switch digest := s.digestOf(had); {
	case complete:
		p.Served = digest
	case digest == s.Served:
		for _, cluster := range p.Lost {
			m := p.selection.find(cluster)
			p.write(s, lost[m], m, s.Current, "its agent lost it")
		}
		p.Lost = nil
		p.setOwner(s)
		p.Held.Writes = slices.DeleteFunc(p.Held.Writes, func(held Write) bool {
			return slices.ContainsFunc(p.Writes, func(w Write) bool { return w.Cluster == held.Cluster && w.Revision == held.Revision })
		})
	}
}

// lacksWork reports whether the hub knows no work of a member that the placementRef selects.
func (m *member) lacksWork() bool { return m.owned && !m.invalid && m.work == nil }

// isServedBy reports whether a member that the placementRef selects has exactly the given revision, which its agent would apply again.
func (m *member) isServedBy(rev *work.Revision) bool {
	return m.owned && m.work.At(rev) && m.work.IsApplied() && !m.work.InHandover() && !m.work.IsComplete() && !m.work.Deleting()
}

// digestOf returns the digest of the clusters that have the current revision during a pause. A later pause has another generation of the
// owner, so a digest from this pause proves nothing then.
func (s *Snapshot) digestOf(clusters []string) string {
	slices.Sort(clusters)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%s", s.Generation, s.Current.Hash, strings.Join(clusters, ",")))
	return hex.EncodeToString(sum[:])
}

// holdAbort holds back an abort. A pass that persists an abort ends at that point. A paused pass continues and reports the rollout, so the
// plan must also have the times at which phases change.
func (p *Plan) holdAbort(s *Snapshot, states []*placementState) {
	for _, ps := range states {
		p.recheck(s, ps)
	}
	p.Behind = p.Counts[PhaseWaiting]
	p.hold(s, states)
}

// due returns the actions of the plan, including those that a pause holds back.
func (p *Plan) due() *Actions {
	if p.Held != nil {
		return p.Held
	}
	return &p.Actions
}

// AbortDue returns the abort of a failed rollout, even if a pause holds it back; nil if there is none.
func (p *Plan) AbortDue() *Abort { return p.due().Abort }

// Hashes returns the hashes of the revisions that the plan writes, or would write without a pause, and of the revisions whose objects it
// keeps. The works in the cache may not have these hashes yet.
func (p *Plan) Hashes() sets.Set[string] {
	hashes := sets.New[string]()
	for _, w := range p.due().Writes {
		if w.Revision != nil {
			hashes.Insert(w.Revision.Hash, w.KeptRevision)
		}
	}
	return hashes.Delete("")
}
