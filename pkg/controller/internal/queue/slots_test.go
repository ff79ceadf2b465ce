package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// asks makes claims of an object, and hands out what is free.
func (s *Slots) asks(t Turn, n int) {
	for range n {
		s.lanes[t.Lane].waiting = append(s.lanes[t.Lane].waiting, &claim{key: t.Key, granted: make(chan struct{})})
	}
	s.grant()
}

func (s *Slots) has(t Turn) int { return s.lanes[t.Lane].byObject[t.Key] }

// TestAbortsGetTheNextSlots: five objects that want to write a thousand works each leave slots for an abort, and it gets every slot that becomes
// free until it has all but the one that is kept for rollouts.
func TestAbortsGetTheNextSlots(t *testing.T) {
	s := NewSlots(16, clocktesting.NewFakeClock(time.Now()))
	var greedy []Turn
	for i := range 5 {
		greedy = append(greedy, Turn{Rollouts, fmt.Sprintf("greedy/web-%d", i)})
		s.asks(greedy[i], 1000)
	}
	require.Equal(t, 14, s.taken, "two are kept")
	abort := Turn{Aborts, "tenant/web"}
	s.asks(abort, 100)
	require.Equal(t, 2, s.has(abort), "at once")
	for got := 3; got <= 15; got++ {
		for i := range greedy {
			if s.has(greedy[i]) > 0 {
				s.Give(greedy[i])
				break
			}
		}
		require.Equal(t, got, s.has(abort))
	}
	require.Equal(t, 1, s.lanes[Rollouts].taken, "rollouts go on")
	s.Give(abort)
	require.Equal(t, 15, s.has(abort))
	for i := range greedy {
		if s.has(greedy[i]) > 0 {
			s.Give(greedy[i])
		}
	}
	require.Equal(t, []int{15, 1}, []int{s.has(abort), s.lanes[Rollouts].taken}, "however long the abort takes")
}

// TestRolloutsLeaveTheAPIServerToAnAbort: while an abort writes its status or waits for its caches, a rollout takes none of the slots that
// the abort gave back. It does when the abort is over, or writes nothing any more.
func TestRolloutsLeaveTheAPIServerToAnAbort(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	s := NewSlots(16, clk)
	rollout, abort := Turn{Rollouts, "greedy/web"}, Turn{Aborts, "tenant/web"}
	s.asks(rollout, 1000)
	s.Take(abort)
	for range 13 {
		s.Give(rollout)
	}
	require.Equal(t, 1, s.has(rollout))
	s.Give(abort)
	for range abortPause / time.Second {
		require.Equal(t, 1, s.has(rollout), "nobody waits, but the abort goes on")
		clk.Step(time.Second)
		s.Give(rollout)
	}
	require.Equal(t, 14, s.has(rollout))
}

// TestSlotsAreShared: tenants get the same within a lane, and so do the objects of a tenant, whoever came first and asks for more.
func TestSlotsAreShared(t *testing.T) {
	s := NewSlots(16, clocktesting.NewFakeClock(time.Now()))
	one, other := Turn{Rollouts, "greedy/one"}, Turn{Rollouts, "greedy/other"}
	s.asks(one, 1000)
	require.Equal(t, 14, s.has(one), "nobody else wants any")
	s.asks(other, 1000)
	tenant := Turn{Rollouts, "tenant/web"}
	s.asks(tenant, 1000)
	for range 14 {
		s.Give(one)
	}
	require.Equal(t, 7, s.has(tenant))
	require.Equal(t, 7, s.has(one)+s.has(other))
	require.InDelta(t, s.has(one), s.has(other), 1)
}

// TestSlotsAreGivenBack: nothing is remembered of who has none, and few writers are enough for both lanes.
func TestSlotsAreGivenBack(t *testing.T) {
	for size := 2; size <= 20; size++ {
		s := NewSlots(size, clocktesting.NewFakeClock(time.Now()))
		rollout, abort := Turn{Rollouts, "a/web"}, Turn{Aborts, "b/web"}
		s.Take(rollout)
		s.Take(abort)
		s.Give(abort)
		s.Give(rollout)
		require.Zero(t, s.taken)
		for _, l := range s.lanes {
			require.Empty(t, l.byObject)
			require.Empty(t, l.byTenant)
			require.Empty(t, l.waiting)
		}
	}
}
