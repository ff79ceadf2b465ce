package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

func newWorks() *Works { return &Works{digests: workcache.NewDigests()} }

// A cache without the transform computes the same digest, once per generation. A forged annotation does not change the digest of a work.
func TestDigestOfAWork(t *testing.T) {
	whole := newWork("u1", "7")
	whole.Generation, whole.Spec = 3, spec(configMap)
	meant, err := revision.DigestOf(&whole.Spec)
	require.NoError(t, err)
	forged := whole.DeepCopy()
	forged.Annotations = map[string]string{workpatch.AnnotationCacheDigest: "0123:abc"}
	trimmed := whole.DeepCopy()
	workcache.Trim(trimmed, meant)
	for _, object := range []*workv1.ManifestWork{whole, forged, trimmed} {
		m := newWorks()
		require.Equal(t, meant, note(m, object, Selection{}, true, rt.At(0)).Digest)
		object = object.DeepCopy()
		object.Spec = spec(`{"kind":"X"}`)
		require.Equal(t, meant, note(m, object, Selection{}, true, rt.At(0)).Digest, "once per generation")
	}
}

// A work that succeeded when it was deleted counts as succeeded until it is gone, although the deletion increments its generation and the
// agent removes the objects. For any other work, the report from its agent counts.
func TestSuccessThatIsTakenAway(t *testing.T) {
	m := newWorks()
	see := func(at time.Duration, succeeds bool, options ...rt.WorkOption) work.Work {
		w := rt.Work("c1", append([]rt.WorkOption{rt.AtRevision("bbb")}, options...)...)
		settle(m, &w, succeeds, rt.At(at))
		return w
	}
	since := see(time.Second, true, rt.Applied(0)).SucceededSince
	require.Equal(t, rt.At(time.Second), since)
	require.Equal(t, since, see(2*time.Second, true, rt.Applied(0), rt.Deleting()).SucceededSince)
	gone := see(3*time.Second, false, rt.Applied(0), rt.NotAvailable(3*time.Second), rt.Deleting())
	require.Equal(t, since, gone.SucceededSince)
	require.Zero(t, gone.StateChangedAt)

	require.Equal(t, rt.At(5*time.Second), see(5*time.Second, true, rt.WrittenAt(time.Minute)).SucceededSince, "another write")
	require.Zero(t, see(6*time.Second, false, rt.WrittenAt(time.Minute)).SucceededSince, "a relapse")
	require.Zero(t, see(7*time.Second, false, rt.WrittenAt(time.Minute), rt.Deleting()).SucceededSince)
	require.Equal(t, rt.At(6*time.Second), see(7*time.Second, false, rt.WrittenAt(time.Minute), rt.Deleting()).StateChangedAt, "unchanged since then")
}

// A work has relapsed if its success ended, or was interrupted between two reports, until the hub writes the work again. A first success is
// no relapse.
func TestRelapsed(t *testing.T) {
	m := newWorks()
	see := func(at time.Duration, succeeds bool, options ...rt.WorkOption) bool {
		w := rt.Work("c1", append([]rt.WorkOption{rt.AtRevision("bbb")}, options...)...)
		settle(m, &w, succeeds, rt.At(at))
		return w.Relapsed
	}
	require.False(t, see(0, false))
	require.False(t, see(time.Second, true, rt.Applied(0)))
	require.True(t, see(2*time.Second, false))
	require.True(t, see(3*time.Second, true, rt.Applied(0)))
	require.False(t, see(time.Minute, true, rt.WrittenAt(time.Minute), rt.Applied(0)), "another write")
	require.True(t, see(time.Minute, true, rt.WrittenAt(time.Minute), rt.Applied(time.Minute)), "it was interrupted")
}

// If an agent's clock was seen ahead, its times are ignored, even when the hub's clock has come closer, until the hub writes the work
// again.
func TestClockAhead(t *testing.T) {
	m := newWorks()
	see := func(at time.Duration, options ...rt.WorkOption) bool {
		w := rt.Work("c1", append([]rt.WorkOption{rt.AtRevision("bbb")}, options...)...)
		settle(m, &w, false, rt.At(at))
		return w.ClockAhead
	}
	require.False(t, see(0, rt.Progresses(time.Minute)), "a minute ahead is tolerated")
	require.True(t, see(0, rt.Progresses(time.Minute+time.Second)))
	require.True(t, see(time.Hour, rt.Progresses(time.Minute+time.Second)))
	require.False(t, see(time.Hour, rt.WrittenAt(time.Hour), rt.Progresses(time.Hour)), "another write")
}

// settle calls Watch and Settle for a work, as a pass does.
func settle(m *Works, w *work.Work, succeeds bool, now time.Time) {
	known := m.WorkOf(w.Object.UID)
	known.Watch(w, now)
	known.Settle(w, succeeds, now)
}

// note reads a work from the cache and notes it, as a pass does.
func note(m *Works, object *workv1.ManifestWork, by Selection, deletionCounts bool, now time.Time) work.Work {
	works, known := m.Read([]*workv1.ManifestWork{object})
	known[0].Note(&works[0], by, deletionCounts, now)
	return works[0]
}

// After the clock is set back, a time in the future becomes the current time. A deletion counts from when it was first seen.
func TestClockThatIsSetBack(t *testing.T) {
	m := newWorks()
	see := func(at time.Duration, options ...rt.WorkOption) work.Work {
		made := rt.Work("c1", append([]rt.WorkOption{rt.AtRevision("bbb")}, options...)...)
		w := note(m, made.Object, Selection{Left: true}, true, rt.At(at))
		settle(m, &w, true, rt.At(at))
		return w
	}
	first := see(time.Hour)
	m.WorkOf(first.Object.UID).Settled(rt.At(time.Hour))
	w := see(time.Minute)
	for _, at := range []time.Time{w.SucceededSince, w.WatchedSince, w.SettledAt, w.UnselectedSince, w.LeftSince} {
		require.Equal(t, rt.At(time.Minute), at)
	}
	require.Equal(t, rt.At(time.Minute), see(time.Hour).SucceededSince)
	m.WorkOf(first.Object.UID).Wrote(first.Object, rt.Revision("bbb"))
	require.Equal(t, rt.At(time.Hour), see(time.Hour).WatchedSince, "another write that has the time of the first")
	require.Zero(t, see(time.Hour).DeletionSeen)
	require.Equal(t, rt.At(time.Hour), see(time.Hour, rt.DeletedAt(2*time.Hour)).DeletionSeen)
	require.Equal(t, rt.At(time.Hour), see(3*time.Hour, rt.DeletedAt(2*time.Hour)).DeletionSeen)
}

// A pass remembers when the Placements stopped selecting a work's cluster, when the work's own Placement stopped naming it, and which
// Placements selected it last.
func TestNote(t *testing.T) {
	m, object := newWorks(), newWork("u1", "7")
	object.Generation, object.Spec = 1, spec(configMap)
	see := func(at time.Duration, by Selection) work.Work {
		return note(m, object, by, true, rt.At(at))
	}
	require.Equal(t, []string{"p1"}, see(0, Selection{Selected: true, Sliced: []string{"p1"}}).SelectedBy)
	require.Equal(t, rt.At(time.Second), see(time.Second, Selection{}).UnselectedSince)
	later := see(2*time.Second, Selection{})
	require.Equal(t, rt.At(time.Second), later.UnselectedSince)
	require.Equal(t, []string{"p1"}, later.SelectedBy)
	require.Zero(t, see(3*time.Second, Selection{Unknown: true}).UnselectedSince, "it may be selected")
	require.Equal(t, rt.At(4*time.Second), see(4*time.Second, Selection{}).UnselectedSince)
	require.Zero(t, see(5*time.Second, Selection{Selected: true}).UnselectedSince)
	require.Equal(t, rt.At(6*time.Second), see(6*time.Second, Selection{Selected: true, Left: true}).LeftSince)
	require.Equal(t, rt.At(6*time.Second), see(7*time.Second, Selection{Left: true}).LeftSince)
	require.Zero(t, see(8*time.Second, Selection{}).LeftSince)
}

// If the API server stores a write with changes, the work is known as accepted, and the difference is computed until one is found.
func TestAcceptedAs(t *testing.T) {
	m, object := newWorks(), newWork("u1", "7")
	object.Generation, object.Spec = 2, spec(configMap)
	view := func() work.Work {
		return note(m, object, Selection{Selected: true}, true, rt.At(0))
	}
	require.Empty(t, view().AcceptedAs)
	m.WorkOf(object.UID).Wrote(object, &work.Revision{Digest: "asked"})
	require.Equal(t, revision.Digest("asked"), view().AcceptedAs)
	require.Empty(t, m.WorkOf("u1").Difference(func() string { return "" }))
	require.Equal(t, "spec.x", m.WorkOf("u1").Difference(func() string { return "spec.x" }))
	require.Equal(t, "spec.x", m.WorkOf("u1").Difference(func() string { panic("the difference is known") }))
	object = object.DeepCopy() // A cache replaces an object.
	object.Generation++
	require.Empty(t, view().AcceptedAs, "the work was edited since")
	object.Annotations = map[string]string{workv1alpha1.AnnotationAccepted: work.AskedFor("asked", object.Generation)}
	require.Empty(t, view().AcceptedAs, "this process knows which generation it wrote")
}

// A process that did not write a work relies on the annotation of the work, if an API server keeps the work: the annotation names the
// content of a revision, or of a combination of two.
func TestAcceptedAsByAnotherProcess(t *testing.T) {
	for name, test := range map[string]struct {
		note           func(w *work.Work) string
		edited, broker bool
		want           revision.Digest
	}{
		"the generation":                {note: func(*work.Work) string { return work.AskedFor("asked", 2) }, want: "asked"},
		"the generation, edited":        {note: func(*work.Work) string { return work.AskedFor("asked", 2) }, edited: true},
		"the generation, over a broker": {note: func(*work.Work) string { return work.AskedFor("asked", 2) }, broker: true},
		"the content":                   {note: (*work.Work).Accepted, want: "asked"},
		"the content, edited":           {note: (*work.Work).Accepted, edited: true},
		"as it was written":             {note: func(w *work.Work) string { return work.AskedFor(w.Digest, 2) }},
	} {
		t.Run(name, func(t *testing.T) {
			object := rt.Work("c1", rt.AtRevision("bbb"), rt.Generation(2)).Object
			object.Spec = spec(configMap)
			writer := newWorks()
			writer.WorkOf(object.UID).Wrote(object, &work.Revision{Digest: "asked"})
			seen := note(writer, object, Selection{}, true, rt.At(0))
			object.Annotations[workv1alpha1.AnnotationAccepted] = test.note(&seen)
			if test.edited {
				object.Spec, object.Generation = spec(`{"kind":"X"}`), 3
			}
			w := note(newWorks(), object, Selection{}, !test.broker, rt.At(0))
			require.Equal(t, test.want, w.AcceptedAs)
			w.Combined = &handover.Combined{Digest: "asked"}
			require.Equal(t, test.want != "", w.InHandover())
		})
	}
}

// A cache that lags follows if it now shows the version that the API server had a moment ago. A cache with a dead watch does not follow.
func TestFollows(t *testing.T) {
	m := newWorks()
	require.False(t, m.WorkOf("u1").Follows(newWork("u1", "5"), "9", rt.At(0)), "it is behind for the first time")
	require.False(t, m.WorkOf("u1").Follows(newWork("u1", "5"), "12", rt.At(time.Second)))
	require.True(t, m.WorkOf("u1").Follows(newWork("u1", "12"), "15", rt.At(2*time.Second)))
	require.False(t, m.WorkOf("u1").Follows(newWork("u1", "15"), "18", rt.At(time.Minute)), "that was long ago")
}

// If a webhook removes parts of a write, the write is tried again after a while (P7).
func TestStripped(t *testing.T) {
	m := newWorks()
	m.WorkOf("u1").Stripped(true, rt.At(0))
	require.True(t, m.WorkOf("u1").StrippedLately(rt.At(time.Minute)))
	require.False(t, m.WorkOf("u1").StrippedLately(rt.At(PrunedInterval)))
	m.WorkOf("u1").Stripped(false, rt.At(0))
	require.False(t, m.WorkOf("u1").StrippedLately(rt.At(0)))
}

// A cached work matches the live one if both have the same version.
func TestShows(t *testing.T) {
	m := newWorks()
	require.True(t, m.Shows(newWork("u1", "7"), newWork("u1", "7")))
	require.False(t, m.Shows(newWork("u1", "7"), newWork("u1", "8")))
}

// The memory of a work is kept as long as passes see the work.
func TestWorksThatAreGone(t *testing.T) {
	m, gone, stays := newWorks(), newWork("u1", "7"), newWork("u2", "7")
	m.Read([]*workv1.ManifestWork{gone, stays})
	m.WorkOf("u1").Stripped(true, rt.At(0))
	m.WorkOf("u2").Stripped(true, rt.At(0))
	m.Read([]*workv1.ManifestWork{stays})
	require.Len(t, m.known, 1)
	require.True(t, m.WorkOf("u2").StrippedLately(rt.At(0)))
	require.False(t, m.WorkOf("u1").StrippedLately(rt.At(0)))
}
