package controller

import (
	"slices"
	"sync"
)

// slots are what the writes of all passes share: each takes one. A few are kept for each lane, whatever the other one wants: an abort finds one at
// once while a fleet is written, and a rollout goes on while others are aborted. Of the rest, aborts come first. Within a lane the tenant gets the
// next one that has the fewest, and within a tenant the object that has the fewest: nobody gets more by asking for more.
type slots struct {
	mu sync.Mutex
	// size is how many there are, and most how many one lane may have.
	size, most int
	taken      int
	lanes      [lanes]shares
}

// shares are what one lane has.
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

// keptShare is which part of the slots is kept for each lane: one in so many.
const keptShare = 8

func newSlots(size int) *slots {
	s := &slots{size: size, most: max(1, size-max(1, size/keptShare))}
	for i := range s.lanes {
		s.lanes[i].byTenant, s.lanes[i].byObject = map[string]int{}, map[string]int{}
	}
	return s
}

// take waits for a slot. Its holder gives it back.
func (s *slots) take(t turn) {
	waits := &claim{key: t.key, granted: make(chan struct{})}
	s.mu.Lock()
	s.lanes[t.lane].waiting = append(s.lanes[t.lane].waiting, waits)
	s.grant()
	s.mu.Unlock()
	<-waits.granted
}

// give gives a slot back.
func (s *slots) give(t turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	s.lanes[t.lane].add(t.key, -1)
	s.grant()
}

// grant hands out what is free. The caller holds mu.
func (s *slots) grant() {
	for s.taken < s.size {
		next := s.next()
		if next == nil {
			return
		}
		s.taken++
		close(next.granted)
	}
}

// next picks who gets the next slot; nil for nobody.
func (s *slots) next() *claim {
	for _, l := range []lane{aborts, rollouts} {
		if of := &s.lanes[l]; len(of.waiting) > 0 && of.taken < s.most {
			return of.pick()
		}
	}
	return nil
}

// pick takes the claim out whose turn it is.
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

// before reports whether an object comes before another one that asked earlier.
func (s *shares) before(key, other string) bool {
	if a, b := s.byTenant[tenantOf(key)], s.byTenant[tenantOf(other)]; a != b {
		return a < b
	}
	return s.byObject[key] < s.byObject[other]
}

// add counts slots that an object takes, or gives back.
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
