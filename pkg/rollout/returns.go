package rollout

// returns reports whether the template has returned to a revision that every cluster gets at once: to the current one in the middle of
// another rollout (R12b), or to an earlier one within the rollback window (R12c).
func (s *Snapshot) returns() bool {
	if s.Aborted || s.Current == nil {
		return false
	}
	return s.FastUndo || s.Current.Hash == s.Update.Hash && s.Update.Underway()
}

// returnAtOnce writes the update revision to every cluster that left it, regardless of strategies and halts: the template has returned.
// Clusters without a work, and clusters whose work was edited by hand, follow the strategy (R12b, R12c).
func (p *Plan) returnAtOnce(s *Snapshot, fleets []*fleet, sel *selection) {
	if !s.returns() {
		return
	}
	for _, f := range fleets {
		for i := range f.members {
			m := &f.members[i]
			if !m.writable() || !m.work.left(s.Update) || m.refused() && !m.retriable(s.Now) {
				continue
			}
			p.write(s, f, m, s.Update, returned)
			if m.phase == PhaseWaiting {
				m.phase = PhaseInFlight
			}
			m.behind = false
		}
	}
	for _, cluster := range sel.unselected() {
		if w := sel.byCluster[cluster]; w.left(s.Update) {
			p.add(s, Write{Action: Update, Cluster: cluster, Placement: w.PlacementName(), Work: w, Why: returned}, s.Update)
		}
	}
}

// returned is the reason for writing a work when the template has returned.
const returned = "the template has returned to this revision"

// left reports whether a work, which may not exist, has another revision.
func (w *Work) left(rev *Revision) bool {
	return w != nil && w.Hash() != "" && w.Hash() != rev.Hash && !w.At(rev)
}
