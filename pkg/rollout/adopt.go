package rollout

import "slices"

// adoptUpdate labels what an older hub wrote and is the update revision already: nothing on the cluster changes, so that no strategy is
// asked (R6). Until the API server accepts the write, a rejected member stays rejected.
func (p *Plan) adoptUpdate(s *Snapshot, ps *placementState) {
	for _, m := range ps.members {
		if m.unlabelled() && m.work.Digest == s.Update.Digest && (m.rejection == nil || m.retriable(s.Now)) {
			p.adopt(ps, m, Write{Revision: s.Update, Why: alreadyThis, Retry: m.rejection != nil})
			m.written = true
		}
	}
}

// adoptOlder labels what an older hub wrote and is an older revision. Its turn for the update revision comes as any other's.
func (p *Plan) adoptOlder(s *Snapshot, ps *placementState, written map[*Work]bool) {
	for _, m := range ps.members {
		if !m.unlabelled() || written[m.work] {
			continue
		}
		older := slices.IndexFunc(s.Older, func(rev *Revision) bool { return rev.Digest == m.work.Digest })
		if older >= 0 {
			p.adopt(ps, m, Write{Revision: s.Older[older], Why: alreadyThis, Retry: m.rejection != nil})
		}
	}
}

// alreadyThis is why a work is adopted.
const alreadyThis = "its spec is this revision already"

// adopt adds a write of metadata only: a revision's hash, and the time.
func (p *Plan) adopt(ps *placementState, m *member, w Write) {
	w.Action, w.Cluster, w.Placement, w.Work, w.Group = Adopt, m.cluster, m.placement(ps), m.work, ps.groups[m.group].Key()
	p.Writes = append(p.Writes, w)
}

// writtenWorks are the works that the plan writes, from one of its writes on.
func (p *Plan) writtenWorks(from int) map[*Work]bool {
	written := make(map[*Work]bool, len(p.Writes)-from)
	for i := range p.Writes[from:] {
		written[p.Writes[from+i].Work] = true
	}
	return written
}
