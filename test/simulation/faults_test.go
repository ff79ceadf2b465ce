package simulation

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// chapter is a part of a life; the world is at rest after it.
type chapter struct {
	name string
	do   func()
}

// live plays a life; note is called after each chapter.
func (w *World) live(note func(chapter string), chapters []chapter) error {
	for _, chapter := range chapters {
		chapter.do()
		if err := w.Settle(Forever); err != nil {
			return fmt.Errorf("%s: %w", chapter.name, err)
		}
		if err := w.CheckQuiet(); err != nil {
			return fmt.Errorf("%s: %w", chapter.name, err)
		}
		note(chapter.name)
	}
	return nil
}

// wholeLife is a story with every kind of write: first rollout, update, abort, undo, pause, prune, delete. note is called at each quiet
// point.
func wholeLife(w *World, note func(chapter string)) error {
	w.Report("", "v3", Hangs)
	return w.live(note, []chapter{
		{"first rollout", func() {
			w.Place("p1", []string{"c1", "c2"}, []string{"c3"})
			w.Place("p2", []string{"c3", "c4"})
			w.Create("v1", progressive("p1", 1, "30s", 0, true), progressive("p2", 1, "30s", 0, false))
		}},
		{"update", func() { w.Update("v2") }},
		{"abort", func() { w.Update("v3") }},
		{"retry", func() {
			w.Report("", "v3", Succeeds)
			w.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"abortedTime": nil}}, true)
		}},
		{"undo", func() { w.Update("v1") }},
		{"update that stalls", func() {
			w.Report("c4", "v4", Hangs)
			w.Update("v4")
		}},
		{"abort by hand", func() { w.AbortByHand() }},
		{"update after that", func() { w.Update("v5") }},
		{"pause", func() { w.Pause(true) }},
		{"update while paused", func() { w.Update("v6") }},
		{"resume", func() { w.Pause(false) }},
		{"prune", func() {
			w.Edit("keeps no history", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.RevisionHistoryLimit = ptr.To[int32](0) })
		}},
		{"leave and join", func() { w.Place("p2", []string{"c5"}) }},
		{"delete", func() {
			if err := w.API.Delete(ReplicaSets, Namespace, Name, nil); err != nil {
				panic(err)
			}
			w.Tell("user: deletes it")
		}},
	})
}

// state is the part of the world that must be the same regardless of faults: everything except times and versions. The generation of a work
// shows how often its cluster was restarted.
func (w *World) state() string {
	var b strings.Builder
	if object := w.Object(); object != nil {
		fmt.Fprintf(&b, "current %s, update %s, aborted %v, summary %+v\n", object.Status.CurrentRevision, object.Status.UpdateRevision,
			object.Status.AbortedTime != nil, object.Status.Summary)
		for _, c := range object.Status.Conditions {
			fmt.Fprintf(&b, "%s %s %s %d: %s\n", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
		}
	}
	for _, work := range w.Works() {
		fmt.Fprintf(&b, "%s/%s %s, generation %d, labels %v\n", work.Namespace, work.Name, Version(work), work.Generation, work.Labels)
	}
	for _, rev := range w.Revisions() {
		fmt.Fprintf(&b, "%s %d\n", rev.Name, rev.Revision)
	}
	return b.String()
}

var everyFault = flag.Bool("every-fault", false, "let each write fail in every way, and not only in one of them")

// failsIn reports whether a test injects a fault into the k-th write. way is the number of the fault, and ways is the number of faults. By
// default, the faults alternate, and each write gets one. With -every-fault, as in `make stories`, each write gets every fault in turn.
func failsIn(k, way, ways int) bool { return *everyFault || (k+way)%ways == 0 }

// TestEveryWriteMayFail makes each write of a whole story fail in each way, one at a time, and compares each quiet point with that of a
// story without faults (P5).
func TestEveryWriteMayFail(t *testing.T) {
	t.Parallel()
	everyWriteMayFail(t, NewWorld, wholeLife, checkEvents)
}

// everyWriteMayFail does the same with a life that begins in a new world. compare judges the events of a life with a fault.
func everyWriteMayFail(
	t *testing.T, newWorld func() *World, life func(*World, func(chapter string)) error, compare func(calm, got []string, fault Fault) error,
) {
	calm := newWorld()
	writes := 0
	calm.Fault = func(string) Fault { writes++; return NoFault }
	wanted := map[string]string{}
	require.NoError(t, life(calm, func(chapter string) { wanted[chapter] = calm.state() }))
	require.NotZero(t, writes)
	t.Logf("%d writes", writes)

	faults := []Fault{KilledBefore, KilledAfter, Refused, Throttled, Conflicted, Lost}
	for way, fault := range faults {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			for k := 1; k <= writes; k++ {
				if !failsIn(k, way, len(faults)) {
					continue
				}
				w := newWorld()
				n := 0
				w.Fault = func(string) Fault {
					if n++; n == k {
						return fault
					}
					return NoFault
				}
				w.Check = func(write string) {
					if err := w.CheckWrite(write); err != nil {
						t.Errorf("write %d, %s: %v\n%s", k, fault, err, strings.Join(w.Story, "\n"))
					}
				}
				err := life(w, func(chapter string) {
					if got := w.state(); got != wanted[chapter] {
						t.Errorf("write %d, %s: after the %s there is\n%sand without the fault\n%s\n%s", k, fault, chapter, got, wanted[chapter], strings.Join(w.Story, "\n"))
					}
				})
				if err == nil {
					err = compare(calm.events, w.events, fault)
				}
				if err != nil {
					t.Errorf("write %d, %s: %v\n%s", k, fault, err, strings.Join(w.Story, "\n"))
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}
