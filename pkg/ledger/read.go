package ledger

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Places are the places that may hold the ledger of an object.
type Places struct {
	// Owner is the UID of the object, and Template is the digest of its template; empty if unknown.
	Owner    types.UID
	Template revision.Digest
	// Status is status.ledger. History holds the revisions, one of which has the copy; empty if they can't be read.
	Status  string
	History revision.History
	// Remembered is the ledger that this process last decided or found; nil for none. It counts if both places lost the ledger.
	Remembered *Ledger
}

// Reading is the ledger that counts, and the places that hold it.
type Reading struct {
	// Ledger is the ledger; its Seq is 0 if there is none.
	Ledger Ledger
	// InStatus is true if the status holds the ledger. InCopy is true if the revision from Holder has the copy.
	InStatus, InCopy bool
	// Later is the error for a ledger of a higher format in either place; nil if there is none. The hub does not touch such an object.
	Later error
}

// Read returns the ledger that counts: the ledger with the highest number, or the copy if the numbers are equal, because works may follow
// the copy. If the ledger of the status is more than one ahead of all others, it may be forged, or its revisions were deleted. It then
// counts unless the stable revision that it names is in the history, was never stable, and is not the template in the spec.
func Read(p *Places) Reading {
	var r Reading
	copied := p.newestCopy(&r)
	stored := p.stored(&r)
	if r.Later != nil {
		return r
	}
	if stored != nil && !p.believes(stored, copied) {
		stored = nil
	}
	counting := p.latest(stored, copied)
	if counting == nil {
		return r
	}
	r.Ledger = *counting
	r.InStatus = stored != nil && (stored == counting || stored.Equal(counting))
	if holder := Holder(&p.History, counting); holder != nil {
		text, err := counting.Encode()
		r.InCopy = err == nil && holder.Object.Annotations[workv1alpha1.AnnotationLedger] == text
	}
	return r
}

// stored returns the ledger of the status; nil if there is none.
func (p *Places) stored(r *Reading) *Ledger {
	if p.Status == "" {
		return nil
	}
	found, err := Decode(p.Status, p.Owner)
	if later := (HigherFormat{}); errors.As(err, &later) {
		r.Later = later
	}
	return found
}

// latest returns the ledger with the highest number; nil if there is none. If numbers are equal, it prefers the copy, then the status.
func (p *Places) latest(stored, copied *Ledger) (latest *Ledger) {
	if p.Remembered != nil && p.Remembered.Owner == p.Owner {
		latest = p.Remembered
	}
	for _, found := range []*Ledger{stored, copied} {
		if found != nil && (latest == nil || found.Seq >= latest.Seq) {
			latest = found
		}
	}
	return latest
}

// newestCopy returns the copy with the highest number; nil if there is none. If numbers are equal, it prefers the copy of the newest
// revision.
func (p *Places) newestCopy(r *Reading) (newest *Ledger) {
	for i := range slices.Backward(p.History.Revisions) {
		text := p.History.Revisions[i].Object.Annotations[workv1alpha1.AnnotationLedger]
		if text == "" {
			continue
		}
		h, err := headOf(text, p.Owner)
		if later := (HigherFormat{}); errors.As(err, &later) {
			r.Later = later
		}
		if err != nil || newest != nil && h.Seq <= newest.Seq {
			continue
		}
		if found, err := Decode(text, p.Owner); err == nil {
			newest = found
		}
	}
	return newest
}

// believes reports whether the ledger of a status can count, given the newest copy, which may be nil.
func (p *Places) believes(stored, copied *Ledger) bool {
	known := int64(0)
	for _, other := range []*Ledger{copied, p.Remembered} {
		if other != nil {
			known = max(known, other.Seq)
		}
	}
	current := stored.Current
	switch {
	case stored.Seq <= known+1:
		return true
	case stored.Seq >= maxSeq/2:
		return false // A forged number must leave enough numbers for later decisions.
	case current.Hash == "":
		return true
	case current.Hash == stored.Update.Hash && current.Digest == p.Template && p.Template != "":
		return true // It only claims that the template in the spec is the stable one.
	}
	// Without the revision, a forged ledger restores nothing. A true one was decided while the history could not be read or written.
	rev := p.History.ByHash(current.Hash)
	return rev == nil || !rev.Ended.IsZero() || !rev.Recorded.IsZero() || copied != nil && copied.WasCurrent(current.Hash)
}

// Holder returns the revision that must have the copy: the update revision, or the newest revision if the update revision is missing; nil
// if there are no revisions.
func Holder(h *revision.History, l *Ledger) *revision.Revision {
	if update := h.ByHash(l.Update.Hash); update != nil {
		return update
	}
	return h.Newest()
}
