package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

const (
	// maxBytes bounds the text of a ledger: with the record of a revision it fits into the 256 KiB that an object's annotations share.
	maxBytes = 128 << 10
	// maxSeq bounds the numbers: no object has that many decisions, and JSON numbers above it are not exact.
	maxSeq = 1 << 53
)

// Encode returns the text of a ledger. Equal ledgers have equal texts. If the text is too long, Encode omits the messages of the troubles
// and the users who approved groups. If it is still too long, Encode also omits the troubles that are not failures.
func (l *Ledger) Encode() (string, error) {
	out := l.Clone()
	out.inUTC()
	text, err := revision.Encode("the ledger", &out)
	if err == nil && len(text) > maxBytes {
		out = out.Short()
		text, err = revision.Encode("the ledger", &out)
	}
	for _, state := range []State{TriedAgain, Degraded, Rejected, Unrestored, Passed} {
		if err == nil && len(text) > maxBytes {
			out.Troubles = slices.DeleteFunc(out.Troubles, func(t Trouble) bool { return t.State == state })
			text, err = revision.Encode("the ledger", &out)
		}
	}
	return text, err
}

// inUTC converts all times to UTC.
func (l *Ledger) inUTC() {
	for _, at := range []*time.Time{&l.Begun.At, &l.Begun.Retried, &l.Ended} {
		*at = at.UTC()
	}
	l.Abort, l.WouldAbort, l.Approvals = l.Abort.UTC(), l.WouldAbort.UTC(), revision.ApprovalsInUTC(l.Approvals)
	for i := range l.Troubles {
		l.Troubles[i].Since = l.Troubles[i].Since.UTC()
	}
	for _, times := range []map[string]time.Time{l.Halted, l.Baking} {
		for key, at := range times {
			times[key] = at.UTC()
		}
	}
}

// errForeign is the error for a ledger that belongs to another object.
var errForeign = errors.New("it is the ledger of another object")

// HigherFormat is the error for a ledger that a later release of the hub wrote in a higher format.
type HigherFormat struct{ Format int }

// Error implements error.
func (h HigherFormat) Error() string {
	return fmt.Sprintf("its format is %d, and this hub reads format %d", h.Format, Format)
}

// head is the part of a ledger that is the same in every format.
type head struct {
	Format int       `json:"format"`
	Owner  types.UID `json:"owner"`
	Seq    int64     `json:"seq"`
}

// headOf returns the head of an object's ledger, or an error if this build can't read the ledger.
func headOf(text string, owner types.UID) (head, error) {
	var h head
	if len(text) > maxBytes {
		return h, fmt.Errorf("it has %d bytes; the maximum is %d", len(text), maxBytes)
	}
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return h, fmt.Errorf("it is not a ledger: %w", err)
	}
	switch {
	case h.Owner != owner:
		return h, errForeign
	case h.Format > Format:
		return h, HigherFormat{Format: h.Format}
	case h.Format != Format || h.Seq < 1 || h.Seq >= maxSeq:
		return h, fmt.Errorf("it has format %d and number %d", h.Format, h.Seq)
	}
	return h, nil
}

// Decode returns the ledger of an object.
func Decode(text string, owner types.UID) (*Ledger, error) {
	if _, err := headOf(text, owner); err != nil {
		return nil, err
	}
	l := &Ledger{}
	if err := json.Unmarshal([]byte(text), l); err != nil {
		return nil, fmt.Errorf("it is not a ledger: %w", err)
	}
	if _, err := l.Encode(); err != nil { // A time is out of JSON's range in UTC.
		return nil, err
	}
	return l, nil
}

// Short returns the ledger without messages and without the users who approved groups, for a place with a lower size limit.
func (l *Ledger) Short() Ledger {
	short := l.Clone()
	for i := range short.Troubles {
		short.Troubles[i].Message = ""
	}
	for i := range short.Approvals {
		short.Approvals[i].By = ""
	}
	return short
}

// SeqOf returns the number of a ledger in any format; 0 if it has no valid number, or a number that leaves too few for later decisions.
func SeqOf(text string) int64 {
	var h head
	if json.Unmarshal([]byte(text), &h) != nil || h.Seq < 0 || h.Seq >= maxSeq/2 {
		return 0
	}
	return h.Seq
}
