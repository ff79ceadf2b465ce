package memory

import "time"

// Place is a place that stores the ledger of an object, or that shows which copy of the ledger is the newest.
type Place string

// The places.
const (
	// Status is status.ledger.
	Status Place = "status.ledger"
	// Revision is the annotation of a ControllerRevision.
	Revision Place = "ControllerRevision"
	// LiveRevisions is the API server's list of the object's ControllerRevisions.
	LiveRevisions Place = "ControllerRevisions"
)

// PrunedInterval is the interval at which this process retries a write if the API server dropped part of it: the
// ledger, or the metadata of a ManifestWork.
const PrunedInterval = 5 * time.Minute

// placePatience is the time for which the writes to a place must fail before the other place alone is enough.
const placePatience = 10 * time.Second

// LostPlace is a place that was unavailable at the last attempt.
type LostPlace struct {
	// Request names the failing request, and Note is a message for users; both are empty if the API server drops the ledger.
	Request, Note string

	since, triedAt time.Time
	// seq is the number of the ledger that the place lacks.
	seq int64
	// interval is the time until the next attempt.
	interval time.Duration
	// dropped is true if the API server accepted the write but dropped the ledger, because the installed CRD is not
	// this hub's.
	dropped bool
}

// TryAt returns the time of the next attempt.
func (l *LostPlace) TryAt() time.Time { return l.triedAt.Add(l.interval) }

// Places are the places that were unavailable at the last attempt. A place without an entry holds the ledger.
type Places map[Place]LostPlace

// Failed records that a write of the ledger to a place failed. note is the message for users.
func (p Places) Failed(place Place, seq int64, now time.Time, request string, err error, note string) {
	lost := LostPlace{Request: request, Note: note, seq: seq, since: now, triedAt: now, interval: RefusedInterval}
	if IsLasting(err) {
		lost.interval = PrunedInterval
	}
	p.lose(place, lost)
}

// Dropped records that the API server drops the ledger in a place.
func (p Places) Dropped(place Place, seq int64, now time.Time) {
	p.lose(place, LostPlace{seq: seq, since: now, triedAt: now, interval: PrunedInterval, dropped: true})
}

func (p Places) lose(place Place, lost LostPlace) {
	if before, again := p[place]; again && before.dropped == lost.dropped {
		lost.since = before.since
	}
	p[place] = lost
}

// Held records that a place holds the ledger with this number.
func (p Places) Held(place Place, seq int64) {
	if p[place].seq <= seq {
		delete(p, place)
	}
}

// Drops reports whether the API server dropped the ledger in a place at the last attempt.
func (p Places) Drops(place Place) bool { return p[place].dropped }

// Lost reports whether a place has been unavailable for so long that the other place alone is enough.
func (p Places) Lost(place Place, now time.Time) bool {
	lost, known := p[place]
	return known && (lost.dropped || !now.Before(lost.since.Add(placePatience)))
}

// Waits reports whether a place is unavailable and its next attempt is not due yet.
func (p Places) Waits(place Place, now time.Time) bool {
	lost := p[place]
	return p.Lost(place, now) && lately(lost.triedAt, now, lost.interval)
}
