// Package memory holds the state that a process keeps between passes, but that its successor never needs: its
// observations and reports, its own writes until the caches show them, results that are costly to compute, and the time
// when the next pass may begin. Without this state, a process waits a little longer, retries rejected writes, and
// repeats a few notes.
//
// It imports the pure packages, package workcache and client-go's cache. It must not import a client, because it does
// not read or write objects. The time is always an argument.
package memory

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// Owners holds the state of each ManifestWorkReplicaSet, by "namespace/name".
type Owners struct {
	digests *workcache.Digests

	mu    sync.Mutex
	known map[string]*Owner
}

// NewOwners returns empty Owners.
func NewOwners() *Owners {
	return &Owners{digests: workcache.NewDigests(), known: map[string]*Owner{}}
}

// OwnerOf returns the state of an object. A recreated object gets a new state.
func (o *Owners) OwnerOf(key string, uid types.UID) *Owner {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.known[key]
	if known == nil || known.uid != uid {
		known = newOwner(uid, o.digests)
		o.known[key] = known
	}
	return known
}

// Find returns the state of the most recent object with a key; nil if there is none.
func (o *Owners) Find(key string) *Owner {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[key]
}

// Forget drops the state of an object that is gone.
func (o *Owners) Forget(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, key)
}

// sighting records when this process first saw a time that is stored with an object.
type sighting struct{ stored, first time.Time }

// see returns the earlier of the stored time and the time when this process first saw it. The clock that wrote the
// stored time may have been ahead, and may have been set back since.
func (s *sighting) see(stored, now time.Time) time.Time {
	if !stored.Equal(s.stored) || s.first.After(now) {
		s.stored, s.first = stored, now
	}
	if stored.After(s.first) {
		return s.first
	}
	return stored
}

// lately reports whether a time is less than while ago. A time in the future was recorded before the clock was set
// back. It is not recent: otherwise it would stay recent for as long as the clock had been ahead.
func lately(at, now time.Time, while time.Duration) bool {
	return !now.Before(at) && now.Before(at.Add(while))
}

// setBack sets times in the future to now, because the clock was set back after this process recorded them.
func setBack(now time.Time, noted ...*time.Time) {
	for _, at := range noted {
		if at.After(now) {
			*at = now
		}
	}
}
