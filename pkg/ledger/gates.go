package ledger

// Gated reports whether success gates decide about clusters: the rollout is in progress, and is neither aborted nor a return of every
// cluster at once.
func (l *Ledger) Gated() bool {
	return l.Ended.IsZero() && l.Abort == nil && l.Current.Hash != l.Update.Hash && !l.Begun.AtOnce
}
