package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/goldentest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestStoriesOfHandover plays named stories in which versions drop each other's objects.
func TestStoriesOfHandover(t *testing.T) {
	for name, play := range map[string]func(*teller){
		"handover of three versions, the second one never available": func(s *teller) {
			s.handsOver(progressive("p1", 1, "None", 0, false), "", Hangs)
			s.settle(time.Minute)
			s.hasObjects("app-v1 app-v2 demo", "c1")
			s.Update("v3")
			s.settle(1500 * time.Millisecond)
			s.hasObjects("app-v1 app-v3 demo", "c1")
			s.quiet()
			s.hasObjects("app-v3 demo", "c1", "c2")
		},
		"handover of two versions back and forth": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.Update("v2")
			s.quiet()
			s.hasObjects("app-v2 demo", "c1", "c2")
			s.Update("v1")
			s.settle(2500 * time.Millisecond)
			s.Update("v2")
			s.quiet()
			s.hasObjects("app-v2 demo", "c1", "c2")
		},
		"handover that is aborted before and after a cluster is trimmed": func(s *teller) {
			s.handsOver(progressive("p1", 1, "30s", 0, true), "c2", Hangs)
			s.quiet()
			s.hasObjects("app-v1 demo", "c1", "c2")
		},
		"handover with a broken version in between": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, false), "c1")
			s.Report("", "v2", Degrades)
			s.Update("v2")
			s.quiet()
			s.hasObjects("app-v1 app-v2 demo", "c1")
			s.Update("v3")
			s.quiet()
			s.hasObjects("app-v3 demo", "c1")
		},
		"handover while clusters join": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, false), "c1")
			s.Update("v2")
			s.Place("p1", []string{"c1", "c2"})
			s.quiet()
			s.hasObjects("app-v2 demo", "c1", "c2")
		},
		"handover of an object that can't be applied any more": func(s *teller) {
			s.BrokenKept = true
			s.stable(progressive("p1", 1, "30s", 0, true), "c1")
			s.Update("v2")
			s.quiet()
			s.hasObjects("app-v2 demo", "c1")
		},
		"handover that waits for a restarted hub to know what serves": func(s *teller) {
			s.handsOver(all("p1", "30s", false), "c2", Degrades)
			s.quiet()
			s.hasObjects("app-v1 app-v2 demo", "c1", "c2")
			s.restarts()
			s.hangs("v3", "")
			s.settle(time.Minute)
			s.hasObjects("app-v2 app-v3 demo", "c1")
			s.hasObjects("app-v1 app-v3 demo", "c2")
		},
		"handover from a version that no work has any more": func(s *teller) {
			s.handsOver(all("p1", "30s", false), "c2", Degrades)
			s.quiet()
			s.keepsOlder(0)
			s.hangs("v3", "")
			s.settle(time.Minute)
			s.hasObjects("app-v2 app-v3 demo", "c1")
			require.Len(s.t, s.Revisions(), 3, "the work of c1 names v2 as kept")
			s.restarts()
			s.settle(time.Minute)
			s.hasObjects("app-v2 app-v3 demo", "c1")
			s.hasObjects("app-v1 app-v3 demo", "c2")
		},
		"handover of works that the API server stores differently": func(s *teller) {
			s.API.Mutate = func(spec map[string]any) {
				first := spec["workload"].(map[string]any)["manifests"].([]any)[0].(map[string]any)
				first["metadata"].(map[string]any)["labels"] = map[string]any{"seen": "yes"}
			}
			s.handsOver(all("p1", "None", false), "c1", Hangs)
			s.settle(time.Minute)
			s.hasObjects("app-v1 app-v2 demo", "c1")
			s.hasObjects("app-v2 demo", "c2")
			s.restarts()
			s.settle(time.Minute)
			s.hasObjects("app-v1 app-v2 demo", "c1")
			s.conditions()
		},
		"handover is switched off in the middle": func(s *teller) {
			s.handsOver(all("p1", "None", false), "", Hangs)
			s.settle(time.Minute)
			s.hasObjects("app-v1 app-v2 demo", "c1", "c2")
			s.Edit("deletes at once", immediate)
			s.settle(time.Minute)
			s.hasObjects("app-v2 demo", "c1", "c2")
		},
		"handover over a broker": func(s *teller) {
			s.OverBroker()
			s.Place("p1", []string{"c1"})
			s.Create("v1", all("p1", "30s", false))
			s.settle(time.Minute)
			s.Update("v2")
			s.settle(time.Minute)
			s.hasObjects("app-v2 demo", "c1")
			s.conditions()
		},
		"handover without a history": func(s *teller) {
			s.API.NoHistory = true
			s.Place("p1", []string{"c1"})
			s.Create("v1", all("p1", "30s", false))
			s.settle(time.Minute)
			s.Update("v2")
			s.settle(time.Minute)
			s.hasObjects("app-v2 demo", "c1")
			s.conditions()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.Drops = true
			s.Check = func(write string) { s.must(s.CheckWrite(write)) }
			play(s)
			s.must(s.brokenHandover)
			goldentest.Equal(t, fileOf(name), s.story()+"\n")
		})
	}
}

// handoverLife is a story in which versions drop each other's objects: an update, a version that never works and is superseded, an abort,
// an undo.
func handoverLife(w *World, note func(chapter string)) error {
	w.Report("", "v3", Hangs)
	w.Report("c2", "v5", Hangs)
	return w.live(note, []chapter{
		{"first rollout", func() {
			w.Place("p1", []string{"c1", "c2"})
			w.Create("v1", progressive("p1", 1, "30s", 0, false))
		}},
		{"update", func() { w.Update("v2") }},
		{"update that stalls", func() { w.Update("v3") }},
		{"update after that", func() { w.Update("v4") }},
		{"abort", func() {
			w.Edit("aborts", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{progressive("p1", 1, "30s", 0, true)}
				spec.ManifestWorkTemplate = w.template("v5")
			})
		}},
		{"undo", func() { w.Update("v2") }},
	})
}

// TestEveryWriteOfAHandoverMayFail: if the hub is killed at any write of a handover, or the write fails, the end state is the same (P5,
// P10).
func TestEveryWriteOfAHandoverMayFail(t *testing.T) {
	t.Parallel()
	everyWriteMayFail(t, func() *World {
		w := NewWorld()
		w.Drops = true
		return w
	}, handoverLife, checkEvents)
}

// handsOver completes v1 on two clusters, and begins to roll out v2 with an outcome on one cluster. An empty cluster stands for both.
func (s *teller) handsOver(ref workv1alpha1.LocalPlacementReference, cluster string, outcome Outcome) {
	s.stable(ref, "c1", "c2")
	s.Report(cluster, "v2", outcome)
	s.Update("v2")
}

// hasObjects checks the objects of clusters.
func (s *teller) hasObjects(objects string, clusters ...string) {
	s.t.Helper()
	for _, cluster := range clusters {
		require.Equal(s.t, objects, s.objectsOf(cluster, Name).String(), "%s\n%s", cluster, s.story())
	}
}
