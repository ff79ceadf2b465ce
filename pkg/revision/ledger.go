package revision

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Entry is what one revision remembers of another one, should that be deleted (R7).
type Entry struct {
	// Digest is the SHA-256 digest of what the other one's template means. Only a content with this digest takes its place.
	Digest Digest `json:"digest"`
	// Created is when it was created first (R12).
	Created time.Time `json:"created"`
	// CurrentSince is when it became the current one; zero when it never did (R16).
	CurrentSince time.Time `json:"currentSince,omitzero"`
	// Former reports whether the other one was the current one and is not live: the history limit may delete it, or has deleted it (R12).
	Former bool `json:"former,omitempty"`
}

// maxFormer bounds how many former current revisions a revision remembers.
const maxFormer = 20

// Ledger is what a revision remembers of others, by hash. It stands in an annotation of the revision, where neither an agent nor a writer
// of the ManifestWorkReplicaSet's status can change it.
type Ledger map[string]Entry

// Ledger reads a revision's; false where it has none that can be read.
func (r *Revision) Ledger() (Ledger, bool) {
	var ledger Ledger
	err := json.Unmarshal([]byte(r.Object.Annotations[workv1alpha1.AnnotationDigests]), &ledger)
	return ledger, err == nil && ledger != nil
}

// Encode is the value of the annotation. Equal ledgers give equal values.
func (l Ledger) Encode() (string, error) {
	if l == nil {
		l = Ledger{}
	}
	data, err := json.Marshal(l)
	if err != nil {
		return "", fmt.Errorf("encoding the digests of the other revisions: %w", err)
	}
	return string(data), nil
}

// Returned returns what is remembered of a former current revision that the history limit deleted, by what its template means; the newest
// that remembers it first (R12).
func (h *History) Returned(template Digest) (Entry, bool) {
	for _, entry := range h.gone() {
		if template != "" && entry.Digest == template && !entry.CurrentSince.IsZero() {
			return entry, true
		}
	}
	return Entry{}, false
}

// AddFormer adds to the ledger of a revision the latest of the other revisions that were the current one and are not live: those of the
// history, and those that revisions remember (R12).
func (h *History) AddFormer(ledger Ledger, hash string) {
	former := Ledger{}
	for _, rev := range slices.Backward(h.Revisions) {
		if since, was := rev.currentOrSurpassed(); was && rev.Err == nil {
			former.remember(rev.Hash, Entry{Digest: rev.Digest, Created: rev.Age().Created.UTC(), CurrentSince: since.UTC()})
		}
		remembered, _ := rev.Ledger()
		for other, entry := range remembered {
			former.remember(other, entry)
		}
	}
	hashes := slices.SortedFunc(maps.Keys(former), func(a, b string) int {
		return cmp.Or(former[b].CurrentSince.Compare(former[a].CurrentSince), cmp.Compare(a, b))
	})
	hashes = slices.DeleteFunc(hashes, func(other string) bool {
		_, live := ledger[other]
		return live || other == hash
	})
	for _, other := range hashes[:min(len(hashes), maxFormer)] {
		ledger[other] = former[other]
	}
}

// LostSince returns how many revisions became the current one after a time and are not in the history any more.
func (h *History) LostSince(at time.Time) int {
	lost := sets.New[string]()
	for hash, entry := range h.gone() {
		if entry.CurrentSince.After(at) {
			lost.Insert(hash)
		}
	}
	return lost.Len()
}

// gone yields what each revision remembers of every revision that is not in the history, by hash; what the newest remembers comes first.
func (h *History) gone() iter.Seq2[string, Entry] {
	return func(yield func(string, Entry) bool) {
		for _, rev := range slices.Backward(h.Revisions) {
			ledger, _ := rev.Ledger()
			for hash, entry := range ledger {
				if h.ByHash(hash) == nil && !yield(hash, entry) {
					return
				}
			}
		}
	}
}

// remember adds what is known of a former current revision. What a newer revision remembers of it stays.
func (l Ledger) remember(hash string, entry Entry) {
	if _, known := l[hash]; known || entry.CurrentSince.IsZero() || entry.Digest == "" {
		return
	}
	entry.Former = true
	l[hash] = entry
}

// currentOrSurpassed is when a revision became the current one or, where another hub rolled out past it since, when that was found (R6).
func (r *Revision) currentOrSurpassed() (time.Time, bool) {
	if since, current := r.CurrentSince(); current {
		return since, true
	}
	return r.SurpassedAt()
}

// Entry is what the revisions remember of the one with a hash, the newest that remembers it first.
func (h *History) Entry(hash string) (Entry, bool) {
	for _, rev := range slices.Backward(h.Revisions) {
		if ledger, ok := rev.Ledger(); ok {
			if entry, found := ledger[hash]; found && entry.Digest != "" {
				return entry, true
			}
		}
	}
	return Entry{}, false
}

// LedgerOf is what the revision with a hash shall remember: of every other live one what it is, and of those that are lost what is
// remembered of them.
func (h *History) LedgerOf(hash string, live sets.Set[string]) Ledger {
	ledger := Ledger{}
	for _, other := range sets.List(live) {
		if other == "" || other == hash {
			continue
		}
		if rev := h.ByHash(other); rev != nil && rev.Err == nil {
			since, _ := rev.CurrentSince()
			ledger[other] = Entry{Digest: rev.Digest, Created: rev.Age().Created.UTC(), CurrentSince: since.UTC()}
		} else if entry, known := h.Entry(other); known {
			ledger[other] = entry
		}
	}
	return ledger
}

// Lacks reports whether a revision's ledger lacks something that it shall remember.
func (r *Revision) Lacks(wanted Ledger) bool {
	ledger, ok := r.Ledger()
	if !ok {
		return true
	}
	for hash, entry := range wanted {
		known, found := ledger[hash]
		if !found || known.Digest != entry.Digest || !known.Created.Equal(entry.Created) || !known.CurrentSince.Equal(entry.CurrentSince) {
			return true
		}
	}
	return false
}
