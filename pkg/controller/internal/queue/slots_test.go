package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// asks requests slots for an object, and hands out the free ones.
func (s *Slots) asks(t Turn, n int) {
	for range n {
		s.lanes[t.Lane].waiting = append(s.lanes[t.Lane].waiting, &claim{key: t.Key, granted: make(chan struct{})})
	}
	s.grant()
}

func (s *Slots) has(t Turn) int { return s.lanes[t.Lane].byObject[t.Key] }

// TestAbortsGetTheNextSlots: five objects that each want to write 1,000 works leave slots for an abort. The abort then gets every slot
// that becomes free, except the one reserved for rollouts.
func TestAbortsGetTheNextSlots(t *testing.T) {
	s := NewSlots(16, clocktesting.NewFakeClock(time.Now()))
	var greedy []Turn
	for i := range 5 {
		greedy = append(greedy, Turn{Rollouts, fmt.Sprintf("greedy/web-%d", i)})
		s.asks(greedy[i], 1000)
	}
	require.Equal(t, 14, s.taken, "two are reserved")
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
	require.Equal(t, 1, s.lanes[Rollouts].taken, "rollouts continue")
	s.Give(abort)
	require.Equal(t, 15, s.has(abort))
	for i := range greedy {
		if s.has(greedy[i]) > 0 {
			s.Give(greedy[i])
		}
	}
	require.Equal(t, []int{15, 1}, []int{s.has(abort), s.lanes[Rollouts].taken}, "however long the abort takes")
}

// TestRolloutsLeaveTheAPIServerToAnAbort: while an abort writes its status or waits for its caches, a rollout takes none of the slots
// that the abort returned. It takes them when the abort has ended or writes nothing more.
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
		require.Equal(t, 1, s.has(rollout), "nothing waits, but the abort continues")
		clk.Step(time.Second)
		s.Give(rollout)
	}
	require.Equal(t, 14, s.has(rollout))
}

// TestSlotsAreShared: the tenants of a lane get equal shares, and so do the objects of a tenant, in whatever order and for however many
// slots they ask.
func TestSlotsAreShared(t *testing.T) {
	s := NewSlots(16, clocktesting.NewFakeClock(time.Now()))
	one, other := Turn{Rollouts, "greedy/one"}, Turn{Rollouts, "greedy/other"}
	s.asks(one, 1000)
	require.Equal(t, 14, s.has(one), "no other object wants a slot")
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

// TestSlotsAreGivenBack: the memory of an object ends with its last slot, and a few writers are enough for both lanes.
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
