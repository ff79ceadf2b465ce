package revision

import (
	"slices"
	"time"
)

// Claim is the verdict about the value of status.currentRevision.
type Claim struct {
	// Hash is the hash of the current revision; empty for none.
	Hash string
	// Record is true if the revision does not yet record that it is the latest current one, because a user named it.
	Record bool
	// Problem is the reason why a revision other than the named one counts; empty if the named one counts.
	Problem string
}

// JudgeCurrent returns which revision counts as the current one if the status names one. update is the hash of the update revision. A user
// may name a revision of the history that was current before or, if none ever was, any revision of the history. Any other value may
// come from anybody who can write the status: the latest current revision stays.
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

// judgeMissing judges a hash that the history does not have. It may be the hash of a revision that somebody deleted, so it counts unless
// the update revision records that another revision was current.
func (h *History) judgeMissing(named, latest, update string) Claim {
	if h.remembers(named) {
		return Claim{Hash: named}
	}
	newest := h.Newest()
	if newest == nil || newest.Hash != update {
		return Claim{Hash: named}
	}
	if newest.Others == nil {
		return Claim{Hash: named}
	}
	return Claim{Hash: latest, Problem: "no revision of the history has the hash " + named}
}

// remembers reports whether a revision records the one with this hash as the current one, even if it does not record its content. A former
// current revision does not count.
func (h *History) remembers(hash string) bool {
	return slices.ContainsFunc(h.Revisions, func(rev Revision) bool {
		entry, found := rev.Others[hash]
		return found && !entry.Former
	})
}

// LastCurrent returns the hash of the revision that became the current one last. That may be a deleted revision that another revision
// records.
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
		consider(rev.Hash, rev.CurrentSince)
	}
	var surpassed time.Time
	if rev := h.LatestSurpassed(); rev != nil {
		surpassed = rev.Surpassed
	}
	for other, entry := range h.gone() {
		if !entry.Former && entry.CurrentSince.After(surpassed) {
			consider(other, entry.CurrentSince)
		}
	}
	return hash, latest
}
