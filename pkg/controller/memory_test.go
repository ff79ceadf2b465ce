package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	rt "github.com/open-cluster-management-io/work-rollback/pkg/rollout/rollouttest"
)

// What this process sees turn, it remembers by the hub's clock; what another write of the hub made of a work is no turn (R10).
func TestTurns(t *testing.T) {
	m := newMemory()
	see := func(at time.Duration, succeeds bool, options ...rt.WorkOption) rollout.Work {
		w := rt.Work("c1", append([]rt.WorkOption{rt.Bears("bbb")}, options...)...)
		m.settle(&w, succeeds, rt.At(at))
		return w
	}
	require.Zero(t, see(1*time.Second, false).TurnedAt, "it begins so")
	require.Zero(t, see(2*time.Second, false).TurnedAt)
	require.Equal(t, rt.At(3*time.Second), see(3*time.Second, true).TurnedAt, "it succeeds")
	require.Equal(t, rt.At(3*time.Second), see(4*time.Second, true).TurnedAt)
	require.Equal(t, rt.At(9*time.Second), see(9*time.Second, false).TurnedAt, "it relapses")
	require.Zero(t, see(10*time.Second, true, rt.WrittenAt(10*time.Second)).TurnedAt, "written anew, what it was before says nothing")
	require.Equal(t, rt.At(11*time.Second), see(11*time.Second, false, rt.WrittenAt(10*time.Second)).TurnedAt)
	require.Zero(t, see(12*time.Second, true, rt.Generation(2)).TurnedAt)
}

// An agent whose clock was seen ahead is not believed when the hub's clock has come closer, until the hub writes the work anew.
func TestClockAhead(t *testing.T) {
	m := newMemory()
	see := func(at time.Duration, options ...rt.WorkOption) bool {
		w := rt.Work("c1", append([]rt.WorkOption{rt.Bears("bbb")}, options...)...)
		m.settle(&w, false, rt.At(at))
		return w.ClockAhead
	}
	require.False(t, see(0, rt.Progresses(time.Minute)), "a minute is believed")
	require.True(t, see(0, rt.Progresses(time.Minute+time.Second)))
	require.True(t, see(time.Hour, rt.Progresses(time.Minute+time.Second)))
	require.False(t, see(time.Hour, rt.WrittenAt(time.Hour), rt.Progresses(time.Hour)), "another write")
}

// Fields that the API server dropped are written again after a while, or as soon as an object shows that its CRD became a newer one.
func TestPruned(t *testing.T) {
	const owner = "demo/web"
	for name, test := range map[string]struct {
		// defaulted is whether the answer that had dropped fields had a default of our CRD.
		defaulted, seen bool
		later           time.Duration
		pruned          bool
	}{
		"the CRD is the same":                        {later: time.Minute, pruned: true},
		"nobody knows for a while":                   {later: prunedInterval},
		"the object has the default now":             {seen: true},
		"it had the default, and lost fields anyway": {defaulted: true, seen: true, later: time.Minute, pruned: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			m.prunes(owner, true, test.defaulted, rt.At(0))
			require.True(t, m.isPruned(owner, rt.At(0)))
			if test.seen {
				m.defaulted(owner)
			}
			require.Equal(t, test.pruned, m.isPruned(owner, rt.At(test.later)))
			require.True(t, m.knownPruned(owner), "until the API server has answered")
			m.prunes(owner, false, test.defaulted, rt.At(test.later))
			require.False(t, m.knownPruned(owner))
		})
	}
}
