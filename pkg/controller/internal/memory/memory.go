// Package memory holds the state that a process keeps from one pass to the next, and that its successor never needs: its observations and
// reports, its own writes until the caches show them, results that are costly to compute, and when the next pass may begin. A process that
// loses all of it waits a little longer, retries rejected writes, and repeats a few notes.
//
// It imports the pure packages, package workcache and client-go's cache. It must not import a client: it reads and writes no objects, and
// the time is an argument.
package memory

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Memory is the state that this process keeps from one pass to the next and that can't be read from the caches. It has one part for each
// kind of object.
//
// Each part has a lock of its own. No part calls another, so no holder of one part's lock waits for another part's lock, and no decision
// uses two parts at once. Workers and their writers use all of them concurrently.
//
// Controller.Forget drops the entries of an object when the cache shows that the object is gone.
type Memory struct {
	Works   *Works
	Owners  Owners
	Reports Reports
	// Releases is about objects that are being deleted and leave their workloads behind.
	Releases Releases
}

// New returns a memory that knows nothing.
func New() *Memory { return &Memory{Works: NewWorks()} }

// sighting is when this process first saw a time that is stored with an object.
type sighting struct{ stored, first time.Time }

// see returns the stored time, or when this process first saw it if that is earlier. The clock that wrote it may have been ahead, and may
// have been set back since.
func (s *sighting) see(stored, now time.Time) time.Time {
	if !stored.Equal(s.stored) || s.first.After(now) {
		s.stored, s.first = stored, now
	}
	if stored.After(s.first) {
		return s.first
	}
	return stored
}

// lately reports whether less than a while has passed since a time. A time in the future was noted before the clock was set back, and is
// not recent: otherwise it would stay recent for as long as the clock was ahead.
func lately(at, now time.Time, while time.Duration) bool {
	return !now.Before(at) && now.Before(at.Add(while))
}

// setBack sets times in the future to now: the clock was set back since this process noted them.
func setBack(now time.Time, noted ...*time.Time) {
	for _, at := range noted {
		if at.After(now) {
			*at = now
		}
	}
}

// ForgetWork drops the state of a ManifestWork that is gone.
func (m *Memory) ForgetWork(uid types.UID) { m.Works.Forget(uid) }

// ForgetOwner drops the state and the reports of a ManifestWorkReplicaSet that is gone, by "namespace/name". Its works are dropped one by
// one.
func (m *Memory) ForgetOwner(owner string) {
	m.Owners.Forget(owner)
	m.Reports.Forget(owner)
	m.Releases.Forget(owner)
}

// entries holds the state of a process by key. Only a holder of mu may read or change an entry.
type entries[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]*V
}

// of returns an entry to change, and creates it if necessary. The caller holds mu.
func (e *entries[K, V]) of(key K) *V {
	found := e.known[key]
	if found == nil {
		if e.known == nil {
			e.known = map[K]*V{}
		}
		found = new(V)
		e.known[key] = found
	}
	return found
}

// look returns an entry to read, or the zero value if there is none. It does not create one. The caller holds mu.
func (e *entries[K, V]) look(key K) V {
	if found := e.known[key]; found != nil {
		return *found
	}
	var none V
	return none
}

// Forget drops an entry.
func (e *entries[K, V]) Forget(key K) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, key)
}
