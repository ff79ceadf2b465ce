package queue

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Slots limit the concurrent writes of all passes: each write takes one. A few slots are reserved for aborts, so that
// an abort gets a slot immediately during a large rollout. While an abort writes, rollouts have only one slot, because
// their writes slow down the abort in the API server even if slots are free. Within a lane, the next slot goes to the
// tenant with the fewest slots, and within a tenant to the object with the fewest slots. More requests do not get a
// larger share.
type Slots struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// size is the number of slots, and kept is the number of slots that are reserved for aborts.
	size, kept int
	taken      int
	lanes      [lanes]shares
	// aborted is the time at which an abort last requested or returned a slot; zero for never. abortedBy is the key of its
	// object.
	aborted   time.Time
	abortedBy string
}

// shares are the slots of one lane.
type shares struct {
	taken    int
	byTenant map[string]int
	byObject map[string]int
	waiting  []*claim
}

// claim is a wait for a slot.
type claim struct {
	key     string
	granted chan struct{}
}

const (
	// keptShare is the reciprocal of the share of slots that is reserved for aborts.
	keptShare = 8
	// besideAborts is the number of slots that rollouts have while an abort writes. One slot is enough to make progress.
	besideAborts = 1
	// abortPause is the time for which an abort still counts as in progress after its last write. In this time, it writes
	// its status, and waits until the caches show its writes. An abort that waits longer, for a rejected work, does not
	// slow rollouts down.
	abortPause = 2 * time.Second
)

// NewSlots returns the given number of slots.
func NewSlots(size int, clk clock.PassiveClock) *Slots {
	s := &Slots{clock: clk, size: size, kept: max(1, size/keptShare)}
	for i := range s.lanes {
		s.lanes[i].byTenant, s.lanes[i].byObject = map[string]int{}, map[string]int{}
	}
	return s
}

// Take waits for a slot. The caller must return it with Give.
func (s *Slots) Take(t Turn) {
	waits := &claim{key: t.Key, granted: make(chan struct{})}
	s.mu.Lock()
	s.lanes[t.Lane].waiting = append(s.lanes[t.Lane].waiting, waits)
	s.note(t)
	s.grant()
	s.mu.Unlock()
	<-waits.granted
}

// Give returns a slot.
func (s *Slots) Give(t Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	s.lanes[t.Lane].add(t.Key, -1)
	s.note(t)
	s.grant()
}

// grant hands out the free slots. The caller holds mu.
func (s *Slots) grant() {
	for s.taken < s.size {
		next := s.next()
		if next == nil {
			return
		}
		s.taken++
		close(next.granted)
	}
}

// note records the activity of an abort. The caller holds mu.
func (s *Slots) note(t Turn) {
	if t.Lane == Aborts {
		s.aborted, s.abortedBy = s.clock.Now(), t.Key
	}
}

// next picks the claim that gets the next slot; nil for none.
func (s *Slots) next() *claim {
	for _, l := range []Lane{Aborts, Rollouts} {
		if of := &s.lanes[l]; len(of.waiting) > 0 && of.taken < s.most(l) {
			return of.pick()
		}
	}
	return nil
}

// most returns the number of slots that a lane may have now. A lane without slots may always take one, so every waiting
// claim is eventually woken when a slot is returned.
func (s *Slots) most(l Lane) int {
	switch {
	case l == Aborts:
		return max(1, s.size-besideAborts)
	case s.abortingBeside(""):
		return besideAborts
	}
	return max(1, s.size-s.kept)
}

// AbortingBeside reports whether an abort of another object is writing works, or wrote works within abortPause.
func (s *Slots) AbortingBeside(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.abortingBeside(key)
}

// abortingBeside implements AbortingBeside. With an empty key, it reports whether any abort is writing. The caller
// holds mu.
func (s *Slots) abortingBeside(key string) bool {
	aborts, ago := &s.lanes[Aborts], s.clock.Since(s.aborted)
	return aborts.taken > aborts.byObject[key] ||
		slices.ContainsFunc(aborts.waiting, func(other *claim) bool { return other.key != key }) ||
		(s.abortedBy != key && 0 <= ago && ago < abortPause) // Below 0, the clock was set back.
}

// pick removes and returns the claim that is next.
func (s *shares) pick() *claim {
	first := 0
	for i := range s.waiting {
		if s.before(s.waiting[i].key, s.waiting[first].key) {
			first = i
		}
	}
	picked := s.waiting[first]
	s.waiting = slices.Delete(s.waiting, first, first+1)
	s.add(picked.key, 1)
	return picked
}

// before reports whether an object comes before another object that requested a slot earlier.
func (s *shares) before(key, other string) bool {
	if a, b := s.byTenant[tenantOf(key)], s.byTenant[tenantOf(other)]; a != b {
		return a < b
	}
	return s.byObject[key] < s.byObject[other]
}

// add counts the slots that an object takes or returns.
func (s *shares) add(key string, n int) {
	s.taken += n
	count(s.byTenant, tenantOf(key), n)
	count(s.byObject, key, n)
}

func count(in map[string]int, of string, n int) {
	if in[of] += n; in[of] == 0 {
		delete(in, of)
	}
}
