package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	rt "github.com/open-cluster-management-io/work-rollback/pkg/rollout/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

// A cache without the transform knows the same digest, once per generation; nobody can make a work pass for one that means something else (R1).
func TestDigestOfAWork(t *testing.T) {
	whole := work("u1", "7")
	whole.Generation, whole.Spec = 3, spec(configMap)
	meant, err := revision.DigestOf(&whole.Spec)
	require.NoError(t, err)
	forged := whole.DeepCopy()
	forged.Annotations = map[string]string{workpatch.AnnotationCacheDigest: "0123:abc"}
	trimmed := whole.DeepCopy()
	workcache.Trim(trimmed, meant)
	for _, object := range []*workv1.ManifestWork{whole, forged, trimmed} {
		m := newWorkMemory()
		require.Equal(t, meant, m.digest(object))
		object.Spec = spec(`{"kind":"X"}`)
		require.Equal(t, meant, m.digest(object), "once per generation")
	}
}

// What this process sees turn, it remembers by the hub's clock; what another write of the hub made of a work is no turn (R10).
func TestTurns(t *testing.T) {
	m := newWorkMemory()
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

// Since when a write is watched and whether it settled is known for that write, by this process (R11).
func TestSettledOnce(t *testing.T) {
	m := newWorkMemory()
	see := func(at time.Duration, options ...rt.WorkOption) rollout.Work {
		w := rt.Work("c1", append([]rt.WorkOption{rt.Bears("bbb")}, options...)...)
		m.settle(&w, false, rt.At(at))
		return w
	}
	require.Equal(t, rt.At(time.Second), see(time.Second).WatchedSince)
	w := see(2 * time.Second)
	require.Equal(t, rt.At(time.Second), w.WatchedSince)
	require.Zero(t, w.SettledAt)
	m.settled([]*rollout.Work{&w}, rt.At(3*time.Second))
	require.Equal(t, rt.At(3*time.Second), see(4*time.Second).SettledAt)
	require.Equal(t, rt.At(3*time.Second), see(5*time.Second, rt.Deleting()).SettledAt, "a deletion is no write")
	w = see(6*time.Second, rt.WrittenAt(6*time.Second))
	require.Zero(t, w.SettledAt, "another write")
	require.Equal(t, rt.At(6*time.Second), w.WatchedSince)
}

// What succeeded when it was deleted stays so until it is gone, though its deletion makes another generation and its agent takes it away
// (R8). What did not, is what its agent says.
func TestSuccessThatIsTakenAway(t *testing.T) {
	m := newWorkMemory()
	see := func(at time.Duration, succeeds bool, options ...rt.WorkOption) rollout.Work {
		w := rt.Work("c1", append([]rt.WorkOption{rt.Bears("bbb")}, options...)...)
		m.settle(&w, succeeds, rt.At(at))
		return w
	}
	since := see(time.Second, true, rt.Applied(0)).SucceededSince
	require.Equal(t, rt.At(time.Second), since)
	require.Equal(t, since, see(2*time.Second, true, rt.Applied(0), rt.Deleting()).SucceededSince)
	gone := see(3*time.Second, false, rt.Applied(0), rt.NotAvailable(3*time.Second), rt.Deleting())
	require.Equal(t, since, gone.SucceededSince)
	require.Zero(t, gone.TurnedAt)

	require.Equal(t, rt.At(5*time.Second), see(5*time.Second, true, rt.WrittenAt(time.Minute)).SucceededSince, "another write")
	require.Zero(t, see(6*time.Second, false, rt.WrittenAt(time.Minute)).SucceededSince, "a relapse")
	require.Zero(t, see(7*time.Second, false, rt.WrittenAt(time.Minute), rt.Deleting()).SucceededSince)
	require.Equal(t, rt.At(6*time.Second), see(7*time.Second, false, rt.WrittenAt(time.Minute), rt.Deleting()).TurnedAt, "it lasts since then")
}

// An agent whose clock was seen ahead is not believed when the hub's clock has come closer, until the hub writes the work anew.
func TestClockAhead(t *testing.T) {
	m := newWorkMemory()
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
