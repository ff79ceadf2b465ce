package rollout

import "time"

// retriedAt returns when somebody retried a member's cluster, by removing its entry from status.failures; zero if that has not happened
// since the hub last wrote its work.
func (m *member) retriedAt(s *Snapshot) time.Time {
	at := s.Retried[m.cluster]
	if m.work == nil || !m.work.At(s.Update) {
		return time.Time{}
	}
	if writtenAt, _ := m.work.AppliedAt(); !writtenAt.Before(at) {
		return time.Time{}
	}
	return at
}

// renewRetried gives retried clusters that have the update revision a new applied-at, from which their deadline runs. Nothing else of the
// work changes (R11).
func (p *Plan) renewRetried(s *Snapshot, f *fleet) {
	for i := range f.members {
		m := &f.members[i]
		if m.retriedAt(s).IsZero() || !m.writable() {
			continue
		}
		rev := *s.Update
		w := Write{
			Action: Adopt, Cluster: m.cluster, Placement: m.placement(f), Work: m.work, Revision: &rev, Group: f.groups[m.group].Key(),
			Why: "somebody retries the cluster", Retry: true,
		}
		if m.work.InHandover() {
			rev.Template, rev.Digest, w.KeptRevision = m.work.Combined.Template, m.work.Combined.Digest, m.work.KeptRevision()
		}
		p.Writes = append(p.Writes, w)
	}
}
