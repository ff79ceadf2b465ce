// Package memory is what a process keeps from one pass to the next, and what its successor never needs: what it saw and said, its own
// writes until the caches show them, what is costly to find again, and when a pass may be made again. A process that loses all of it waits
// a little longer, asks again what it was refused, and repeats a few notes (R8, R10).
//
// It imports the pure packages, package workcache and client-go's cache. It must not import a client: it reads and writes no object, and
// the time is an argument.
package memory

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Memory is what this process has seen from one pass to the next and can't be read from the caches, by what it is about.
//
// Each part has a lock of its own. No part calls another: nobody who holds the lock of one part waits for that of another, and nothing is
// decided on two parts at once. Workers and their writers use all of them concurrently.
//
// Entries go away with what they are about, when the cache shows that it is gone: Controller.Forget does that.
type Memory struct {
	Works   *Works
	Owners  Owners
	Reports Reports
	// Releases is about what is being deleted and leaves its workloads behind.
	Releases Releases
}

// New returns a memory that knows nothing.
func New() *Memory { return &Memory{Works: NewWorks()} }

// sighting is when this process saw first a time that is stored with an object.
type sighting struct{ stored, first time.Time }

// see returns a time as far as times are counted from it: at the latest when this process saw it first. A clock may have been ahead that
// wrote it, and may have been set back since (R10).
func (s *sighting) see(stored, now time.Time) time.Time {
	if !stored.Equal(s.stored) || s.first.After(now) {
		s.stored, s.first = stored, now
	}
	if stored.After(s.first) {
		return s.first
	}
	return stored
}

// ForgetWork drops what is known of a ManifestWork that is gone.
func (m *Memory) ForgetWork(uid types.UID) { m.Works.Forget(uid) }

// ForgetOwner drops what is known of a ManifestWorkReplicaSet that is gone, by "namespace/name", and what was said of it. Its works
// go away one by one.
func (m *Memory) ForgetOwner(owner string) {
	m.Owners.Forget(owner)
	m.Reports.Forget(owner)
	m.Releases.Forget(owner)
}

// entries holds what a process knows by key. An entry is read and changed only by who holds mu.
type entries[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]*V
}

// of finds an entry to note something in, or begins one. The caller holds mu.
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

// look is an entry to read only, the zero value where there is none: a question begins none. The caller holds mu.
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
