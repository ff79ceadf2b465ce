package lifecycle

// encodedLedger returns the records about other revisions that a revision gets when it is created or becomes the newest: about the current
// revision, and about those that were current before, which the history limit may delete (R12).
func (c *chain) encodedLedger(hash string) (string, error) {
	return c.History.LedgerOf(hash, c.Revisions.CurrentRevision).Encode()
}
