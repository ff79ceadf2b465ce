package revision

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Entry is what one revision records about another that is or was the current one, in case that one is deleted.
type Entry struct {
	// Digest is the SHA-256 digest of the other revision's template.
	Digest Digest `json:"digest"`
	// Created is the time when it was first created.
	Created time.Time `json:"created"`
	// CurrentSince is the time when it became the current one; zero if it never did.
	CurrentSince time.Time `json:"currentSince,omitzero"`
	// Former is true if the other revision was the current one before: the history limit may delete it, or has deleted it.
	Former bool `json:"former,omitempty"`
}

// maxFormer is the maximum number of former current revisions that a revision records.
const maxFormer = 20

// Others holds the entries of a revision about other revisions, by hash. It is part of the revision's Record. Neither an agent nor a writer
// of the ManifestWorkReplicaSet's status can change the Record.
type Others map[string]Entry

// Returned returns the entry about a former current revision that the history limit deleted, found by the digest of its template. If
// several revisions have one, the newest of them counts.
func (h *History) Returned(template Digest) (Entry, bool) {
	for _, entry := range h.gone() {
		if template != "" && entry.Digest == template && !entry.CurrentSince.IsZero() {
			return entry, true
		}
	}
	return Entry{}, false
}

// OthersOf returns the records of the revision with a hash: about the current revision, and about the latest of those that were current
// before, which are in the history or recorded by other revisions.
func (h *History) OthersOf(hash, current string) Others {
	others := Others{}
	if current != "" && current != hash {
		others[current], _ = h.Entry(current)
		if rev := h.ByHash(current); rev != nil && rev.Err == nil {
			others[current] = Entry{Digest: rev.Digest, Created: rev.Age().Created.UTC(), CurrentSince: rev.CurrentSince.UTC()}
		}
	}
	h.addFormer(others, hash)
	return others
}

func (h *History) addFormer(others Others, hash string) {
	former := Others{}
	for _, rev := range slices.Backward(h.Revisions) {
		if rev.WasCurrent() && rev.Err == nil {
			former.remember(rev.Hash, Entry{Digest: rev.Digest, Created: rev.Age().Created.UTC(), CurrentSince: rev.currentOrSurpassed().UTC()})
		}
		for other, entry := range rev.Others {
			former.remember(other, entry)
		}
	}
	hashes := slices.SortedFunc(maps.Keys(former), func(a, b string) int {
		return cmp.Or(former[b].CurrentSince.Compare(former[a].CurrentSince), cmp.Compare(a, b))
	})
	hashes = slices.DeleteFunc(hashes, func(other string) bool {
		_, live := others[other]
		return live || other == hash
	})
	for _, other := range hashes[:min(len(hashes), maxFormer)] {
		others[other] = former[other]
	}
}

// LostSince returns the number of revisions that became the current one after a time and are no longer in the history.
func (h *History) LostSince(at time.Time) int {
	lost := sets.New[string]()
	for hash, entry := range h.gone() {
		if entry.CurrentSince.After(at) {
			lost.Insert(hash)
		}
	}
	return lost.Len()
}

// gone yields the entries of each revision about revisions that are not in the history, by hash. The entries of the newest revision come
// first.
func (h *History) gone() iter.Seq2[string, Entry] {
	return func(yield func(string, Entry) bool) {
		for _, rev := range slices.Backward(h.Revisions) {
			for hash, entry := range rev.Others {
				if h.ByHash(hash) == nil && !yield(hash, entry) {
					return
				}
			}
		}
	}
}

// remember adds an entry about a former current revision. An entry of a newer revision about it stays.
func (o Others) remember(hash string, entry Entry) {
	if _, known := o[hash]; known || entry.CurrentSince.IsZero() || entry.Digest == "" {
		return
	}
	entry.Former = true
	o[hash] = entry
}

// currentOrSurpassed returns the time when a revision became the current one or, if another hub has rolled out a newer one since, the time
// when this hub found that.
func (r *Revision) currentOrSurpassed() time.Time {
	if !r.CurrentSince.IsZero() {
		return r.CurrentSince
	}
	return r.Surpassed
}

// Entry returns what the revisions record about the one with a hash. The newest revision that records it takes precedence.
func (h *History) Entry(hash string) (Entry, bool) {
	for _, rev := range slices.Backward(h.Revisions) {
		if entry := rev.Others[hash]; entry.Digest != "" {
			return entry, true
		}
	}
	return Entry{}, false
}
