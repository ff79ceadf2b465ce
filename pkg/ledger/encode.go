package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxBytes bounds the text of a ledger: with the record of a revision it fits into the 256 KiB that an object's annotations share.
	maxBytes = 128 << 10
	// maxSeq bounds the numbers: nothing gets there by counting, and JSON numbers above it are not exact.
	maxSeq = 1 << 53
)

// Encode returns the text of a ledger. Equal ledgers have equal texts. If there is no room, the messages of the troubles are left out, and
// then the troubles that are no failures.
func (l *Ledger) Encode() (string, error) {
	out := l.Clone()
	out.inUTC()
	text, err := encode(&out)
	if err == nil && len(text) > maxBytes {
		out = out.Short()
		text, err = encode(&out)
	}
	for _, state := range []State{TriedAgain, Degraded, Rejected} {
		if err == nil && len(text) > maxBytes {
			out.Troubles = slices.DeleteFunc(out.Troubles, func(t Trouble) bool { return t.State == state })
			text, err = encode(&out)
		}
	}
	return text, err
}

func encode(l *Ledger) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(l); err != nil {
		return "", fmt.Errorf("encoding the ledger: %w", err)
	}
	return string(bytes.TrimSuffix(text.Bytes(), []byte("\n"))), nil
}

// inUTC converts all times to UTC without a monotonic reading.
func (l *Ledger) inUTC() {
	times := []*time.Time{&l.Begun.At, &l.Begun.Retried, &l.Ended}
	if l.Abort != nil {
		times = append(times, &l.Abort.At, &l.Abort.Restored)
	}
	for i := range l.Troubles {
		times = append(times, &l.Troubles[i].Since)
	}
	for _, at := range times {
		*at = at.UTC().Round(0)
	}
	for placement, since := range l.Halted {
		l.Halted[placement] = since.UTC().Round(0)
	}
}

// errForeign is why a ledger is not that of an object.
var errForeign = errors.New("it is the ledger of another object")

// HigherFormat is the error of a ledger that a later release of the hub wrote.
type HigherFormat struct{ Format int }

// Error implements error.
func (h HigherFormat) Error() string {
	return fmt.Sprintf("it has the format %d, and this hub reads format %d", h.Format, Format)
}

// head is the part of a ledger that every format has.
type head struct {
	Format int       `json:"format"`
	Owner  types.UID `json:"owner"`
	Seq    int64     `json:"seq"`
}

// headOf reads the head of the ledger of an object, if this build reads its format.
func headOf(text string, owner types.UID) (head, error) {
	var h head
	if len(text) > maxBytes {
		return h, fmt.Errorf("it has %d bytes, and at most %d are read", len(text), maxBytes)
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
		return h, fmt.Errorf("it has the format %d and the number %d", h.Format, h.Seq)
	}
	return h, nil
}

// Decode reads the ledger of an object.
func Decode(text string, owner types.UID) (*Ledger, error) {
	if _, err := headOf(text, owner); err != nil {
		return nil, err
	}
	l := &Ledger{}
	if err := json.Unmarshal([]byte(text), l); err != nil {
		return nil, fmt.Errorf("it is not a ledger: %w", err)
	}
	if _, err := l.Encode(); err != nil { // It has a time that JSON can't hold in UTC.
		return nil, err
	}
	return l, nil
}

func compareTroubles(a, b *Trouble) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.State, b.State))
}

// Short returns the ledger without messages, for a place with less room.
func (l *Ledger) Short() Ledger {
	short := l.Clone()
	for i := range short.Troubles {
		short.Troubles[i].Message = ""
	}
	return short
}

// SeqOf returns the number of a ledger of any format; 0 if it has none.
func SeqOf(text string) int64 {
	var h head
	if json.Unmarshal([]byte(text), &h) != nil || h.Seq < 0 || h.Seq >= maxSeq {
		return 0
	}
	return h.Seq
}
