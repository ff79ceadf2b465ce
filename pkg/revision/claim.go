package revision

import (
	"slices"
	"time"
)

// Claim is what counts of a status.currentRevision.
type Claim struct {
	// Hash is the current revision's; empty for none.
	Hash string
	// Record says that the revision does not record yet that it is the latest current one (R16): a person named it.
	Record bool
	// Problem says why another one than the named one counts; empty when the named one does.
	Problem string
}

// JudgeCurrent says which revision counts as the current one where the status names one, and update is the hash of the update revision.
// A person may name a revision of the history that was the current one before or, where none ever was, any of them (R6). What else
// is named, anybody may have put there who can write the status: the latest current one stays.
func (h *History) JudgeCurrent(named, update string) Claim {
	latest, known := h.LastCurrent()
	if named == "" {
		if !known || latest == update || update == "" {
			return Claim{} // Once it is complete, the status follows the revision.
		}
		return Claim{Hash: latest, Problem: "it was the current one when the field was removed"}
	}
	rev := h.ByHash(named)
	switch {
	case rev == nil:
		return h.judgeMissing(named, latest, update)
	case !known:
		return Claim{Hash: named, Record: true}
	case rev.WasCurrent():
		return Claim{Hash: named, Record: latest != named && latest != update}
	default:
		return Claim{Hash: latest, Problem: "revision " + rev.Object.Name + " never was the current one"}
	}
}

// judgeMissing judges a hash that the history does not have. It may be that of a revision that somebody deleted: only where the update
// revision remembers all others, and not that one, it is none.
func (h *History) judgeMissing(named, latest, update string) Claim {
	if h.remembers(named) {
		return Claim{Hash: named}
	}
	newest := h.Newest()
	if newest == nil || newest.Hash != update || newest.Rebuilt() {
		return Claim{Hash: named}
	}
	if _, complete := newest.Ledger(); !complete {
		return Claim{Hash: named}
	}
	return Claim{Hash: latest, Problem: "no revision of the history has the hash " + named}
}

// remembers reports whether a revision remembers a live one with this hash, even if it does not record what that held. One that the
// history limit may delete is not live.
func (h *History) remembers(hash string) bool {
	return slices.ContainsFunc(h.Revisions, func(rev Revision) bool {
		ledger, _ := rev.Ledger()
		entry, found := ledger[hash]
		return found && !entry.Former
	})
}

// LastCurrent returns the hash of the revision that became the current one last. That may be a revision that somebody deleted and another
// one remembers (R7).
func (h *History) LastCurrent() (hash string, known bool) {
	hash, latest := h.lastCurrent()
	return hash, !latest.IsZero()
}

// lastCurrent returns the hash of that revision, and when it became the current one; zero if none did.
func (h *History) lastCurrent() (hash string, latest time.Time) {
	consider := func(candidate string, at time.Time) {
		if at.After(latest) {
			hash, latest = candidate, at
		}
	}
	if rev := h.LatestCurrent(); rev != nil {
		at, _ := rev.CurrentSince()
		consider(rev.Hash, at)
	}
	var surpassed time.Time
	if rev := h.LatestSurpassed(); rev != nil {
		surpassed, _ = rev.SurpassedAt()
	}
	for other, entry := range h.gone() {
		if !entry.Former && entry.CurrentSince.After(surpassed) {
			consider(other, entry.CurrentSince)
		}
	}
	return hash, latest
}
