package rollout

import (
	"slices"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// adoptUpdate labels the works of an older hub whose spec is already the update revision. Nothing changes on their clusters, so the
// strategies do not apply.
func (p *Plan) adoptUpdate(s *Snapshot, ps *placementState) {
	for _, m := range ps.members {
		if m.unlabelled() && m.work.Digest == s.Update.Digest {
			p.adopt(ps, m, Write{Revision: s.Update, Why: alreadyThis, Retry: m.rejection != nil, LastTry: m.lastTry})
			m.written = true
		}
	}
}

// adoptOlder labels the works of an older hub whose spec is an older revision. They get the update revision in their turn, like all other
// works.
func (p *Plan) adoptOlder(s *Snapshot, ps *placementState) {
	for _, m := range ps.members {
		if !m.unlabelled() || m.inPlan {
			continue
		}
		older := slices.IndexFunc(s.Older, func(rev *work.Revision) bool { return rev.Digest == m.work.Digest })
		if older >= 0 {
			p.adopt(ps, m, Write{Revision: s.Older[older], Why: alreadyThis})
		}
	}
}

// alreadyThis is the reason for adopting a work.
const alreadyThis = "its spec already matches this revision"

// adopt adds a write that changes only metadata: it adds the hash of a revision, and the time.
func (p *Plan) adopt(ps *placementState, m *member, w Write) {
	w.Action, w.Cluster, w.Placement, w.Work, w.Group = Adopt, m.cluster, m.placement(ps), m.work, ps.groups[m.group].Key()
	p.Writes = append(p.Writes, w)
	m.inPlan = true
}
