package rollout

import "slices"

// adopt labels what an older hub wrote and is the update revision already: nothing on the cluster changes, so that no
// strategy is asked (R6).
func (f *fleet) adopt(s *Snapshot, p *Plan) {
	for i := range f.members {
		m := &f.members[i]
		if !m.unlabelled() || m.work.Digest != s.Update.Digest || m.refused() && !m.retriable(s.Now) {
			continue
		}
		if m.refused() {
			m.retried = true // Until the API server accepts the write, it stays among the refused ones (P7).
		} else if m.phase == PhaseWaiting {
			m.phase = PhaseInFlight
		}
		p.adopt(f, m, s.Update)
	}
}

// adoptOlder labels what an older hub wrote and is an older revision. Its turn for the update revision comes as any other's.
func (f *fleet) adoptOlder(s *Snapshot, p *Plan, written map[*Work]bool) {
	for i := range f.members {
		m := &f.members[i]
		if !m.unlabelled() || written[m.work] {
			continue
		}
		older := slices.IndexFunc(s.Older, func(rev *Revision) bool { return rev.Digest == m.work.Digest })
		if older >= 0 {
			p.adopt(f, m, s.Older[older])
		}
	}
}

// written are the works that the plan writes, from one of its writes on.
func (p *Plan) written(from int) map[*Work]bool {
	written := make(map[*Work]bool, len(p.Writes)-from)
	for i := range p.Writes[from:] {
		written[p.Writes[from+i].Work] = true
	}
	return written
}

// unlabelled reports whether a member waits with a work that no hash labels.
func (m *member) unlabelled() bool {
	return m.behind && m.work != nil && !m.work.Deleting() && m.work.Hash() == ""
}

func (p *Plan) adopt(f *fleet, m *member, rev *Revision) {
	p.Writes = append(p.Writes, Write{
		Action: Adopt, Cluster: m.cluster, Placement: m.placement(f), Work: m.work, Revision: rev,
		Group: f.groups[m.group].Key(), Why: "its spec is this revision already", Retry: m.refusal != nil,
	})
}
