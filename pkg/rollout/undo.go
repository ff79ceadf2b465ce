package rollout

// undoes reports whether the rollout goes back: its revision was the current one before, and is older than today's current one. Such a
// rollout is not aborted by itself: one cluster that says nothing would take the whole fleet back to what was left (R12).
func (s *Snapshot) undoes() bool {
	return s.Current != nil && s.Current.Hash != s.Update.Hash && s.Update.WasCurrent && s.Update.Age.MayPrecede(s.Current.Age)
}
