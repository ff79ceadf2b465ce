package lifecycle

// encodedLedger is what a revision remembers of others when it is created or becomes the newest one: the current one, and the former current ones,
// which the history limit may delete (R12).
func (c *chain) encodedLedger(hash string) (string, error) {
	return c.History.LedgerOf(hash, c.Revisions.CurrentRevision).Encode()
}
