package memory

import (
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
)

// Place is a place that holds the ledger of an object.
type Place string

// The places.
const (
	// Status is status.ledger.
	Status Place = "status.ledger"
	// Revision is the annotation of a ControllerRevision.
	Revision Place = "ControllerRevision"
)

// PrunedInterval is the interval at which this process retries a write from which something was removed: the ledger in a lost place, or the
// metadata of a ManifestWork.
const PrunedInterval = 5 * time.Minute

// placePatience is the time for which the writes to a place must fail before the other place alone is enough.
const placePatience = 10 * time.Second

// lostPlace is a place that was unavailable at the last attempt.
type lostPlace struct {
	since, triedAt time.Time
	// seq is the number of the ledger that the place lacks.
	seq int64
	// interval is the time until the next attempt.
	interval time.Duration
	// dropped is true if the API server accepted the write, but dropped the ledger, because its CRD is not this hub's.
	dropped bool
	// request names the failing request. note is a message about it, with the remedy.
	request, note string
}

// Failed notes that a write of the ledger to a place failed. note is the message for users.
func (m *Owners) Failed(owner string, place Place, seq int64, now time.Time, request string, err error, note string) {
	lost := lostPlace{seq: seq, since: now, triedAt: now, interval: RefusedInterval, request: request, note: note}
	if IsLasting(err) {
		lost.interval = PrunedInterval
	}
	m.lose(owner, place, lost)
}

// LostPlace is a place that was unavailable at the last attempt.
type LostPlace struct {
	// Request names the failing request, and Note is a message for users; both are empty if the API server drops the ledger.
	Request, Note string
	// TryAt is the time of the next attempt.
	TryAt time.Time
}

// LostPlaces returns the places to which the ledger can't be written.
func (m *Owners) LostPlaces(owner string) map[Place]LostPlace {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[Place]LostPlace{}
	for place, lost := range m.look(owner).places {
		found[place] = LostPlace{Request: lost.request, Note: lost.note, TryAt: lost.triedAt.Add(lost.interval)}
	}
	return found
}

// Dropped notes that the API server drops the ledger in a place.
func (m *Owners) Dropped(owner string, place Place, seq int64, now time.Time) {
	m.lose(owner, place, lostPlace{seq: seq, since: now, triedAt: now, interval: PrunedInterval, dropped: true})
}

func (m *Owners) lose(owner string, place Place, lost lostPlace) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(owner)
	if before, again := known.places[place]; again && before.dropped == lost.dropped {
		lost.since = before.since
	}
	if known.places == nil {
		known.places = map[Place]lostPlace{}
	}
	known.places[place] = lost
}

// Held notes that a place holds the ledger with this number.
func (m *Owners) Held(owner string, place Place, seq int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.known[owner]; known != nil && known.places[place].seq <= seq {
		delete(known.places, place)
	}
}

// Drops reports whether the API server dropped the ledger in a place at the last attempt.
func (m *Owners) Drops(owner string, place Place) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).places[place].dropped
}

// Lost reports whether a place is unavailable, so that the other place alone is enough.
func (m *Owners) Lost(owner string, place Place, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	lost, known := m.look(owner).places[place]
	return known && (lost.dropped || !now.Before(lost.since.Add(placePatience)))
}

// Waits reports whether a place is unavailable, and the time of the next attempt has not come yet.
func (m *Owners) Waits(owner string, place Place, now time.Time) bool {
	if !m.Lost(owner, place, now) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	lost := m.look(owner).places[place]
	return lately(lost.triedAt, now, lost.interval)
}

// Confirm notes that a version of an object holds the ledger, although the cache does not show it.
func (m *Owners) Confirm(owner, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).confirmed = version
}

// Confirmed reports whether a version of an object was confirmed to hold the ledger.
func (m *Owners) Confirmed(owner, version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).confirmed == version
}

// Decide remembers the ledger that this process last decided or found. The caller must not change it afterwards.
func (m *Owners) Decide(owner string, decided *ledger.Ledger) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).decided = decided
}

// Decided returns the ledger that this process last decided or found; nil for none.
func (m *Owners) Decided(owner string) *ledger.Ledger {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).decided
}
