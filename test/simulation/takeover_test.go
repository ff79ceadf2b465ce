package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// hashOf returns the hash of the revision of a version; empty if there is none.
func (w *World) hashOf(version string) string {
	for hash, content := range w.contents() {
		if content == version {
			return hash
		}
	}
	return ""
}

// has checks which version each cluster has.
func (s *teller) has(version string, clusters ...string) {
	s.t.Helper()
	for _, cluster := range clusters {
		for _, work := range s.Works() {
			if work.Namespace == cluster && Version(work) != "stray" {
				require.Equal(s.t, version, Version(work), "cluster %s\n%s", cluster, s.story())
			}
		}
	}
}

// takenOver returns a world whose hub completed v1 and v2, and was replaced by a hub without revisions. keeps is true if the CRD stayed, so
// that the status still has its fields.
func takenOver(t *testing.T, keeps bool) *teller {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.Create("v1", progressive("p1", 1, "30s", 0, true))
	s.settle(Forever)
	s.Update("v2")
	s.settle(Forever)
	require.Equal(t, s.hashOf("v2"), s.Object().Status.CurrentRevision)
	s.Check = func(write string) { s.must(s.CheckWrite(write)) }
	if keeps {
		s.Away = true
		s.Tell("admin: downgrades, and leaves the CRD")
	} else {
		s.Downgrade()
	}
	return s
}

// comesBack lets this hub take over again, and checks that this does not change any cluster.
func (s *teller) comesBack() {
	s.t.Helper()
	before := map[string]int64{}
	for _, work := range s.Works() {
		before[work.Namespace] = work.Generation
	}
	s.Upgrade()
	s.settle(time.Second)
	for _, work := range s.Works() {
		require.Equal(s.t, before[work.Namespace], work.Generation, "cluster %s was touched\n%s", work.Namespace, s.story())
	}
}

// each plays a story twice: with a status that was lost in the meantime, and with one that was not.
func each(t *testing.T, play func(*teller)) {
	for name, keeps := range map[string]bool{"status lost": false, "status kept": true} {
		t.Run(name, func(t *testing.T) { play(takenOver(t, keeps)) })
	}
}

// A rollout of upstream's hub that reached every cluster while this hub was away can't be undone automatically: the previous current
// revision is out of date.
func TestStayThatRolledOut(t *testing.T) {
	for name, version := range map[string]string{"a new template": "v3", "an older template": "v1"} {
		t.Run(name, func(t *testing.T) {
			each(t, func(s *teller) {
				s.Report("c2", version, Hangs)
				s.Update(version)
				s.Upstream("p1", version, "c1", "c2", "c3")
				s.settle(500 * time.Hour)
				s.comesBack()
				s.quiet()
				s.has(version, "c1", "c2", "c3")
				object := s.Object()
				require.Nil(s.t, object.Status.AbortedTime)
				require.Empty(s.t, object.Status.CurrentRevision)
				require.Contains(s.t, s.story(), "failureStrategy AbortAll has no effect: there is no stable revision to return to: "+
					"another hub rolled out a template after revision web-"+s.hashOf("v2")+" had become stable, and no rollout has completed since")

				// A restart does not restore it either.
				s.Restart()
				s.quiet()
				s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": nil}, true)
				s.quiet()
				s.has(version, "c1", "c2", "c3")
				require.Empty(s.t, s.Object().Status.CurrentRevision)

				// A late success completes the rollout, so that there is a revision to return to.
				s.Report("c2", version, Succeeds)
				s.quiet()
				require.Equal(s.t, s.hashOf(version), s.Object().Status.CurrentRevision)
				s.hangs("v4", "c1")
				s.quiet()
				require.NotNil(s.t, s.Object().Status.AbortedTime)
				s.has(version, "c1", "c2", "c3")
			})
		})
	}
}

// If only one cluster is selected, its work alone shows the rollout of another hub. No abort returns the cluster to an older version.
func TestStayOfOneCluster(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(all("p1", "30s", true), "c1")
	s.Away = true
	s.Update("v2")
	s.Upstream("p1", "v2", "c1")
	s.settle(500 * time.Hour)
	s.hangs("v3", "c1")
	s.Upgrade()
	s.quiet()
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	require.Empty(t, s.Object().Status.CurrentRevision)
	s.has("v3", "c1")
}

// The other hub was stopped in the middle of a rollout. The clusters that still have the stable revision show that it is stable.
func TestStayThatEndsInTheMiddle(t *testing.T) {
	each(t, func(s *teller) {
		s.Upstream("p1", "v2", "c2")
		s.hangs("v3", "c1")
		s.Upstream("p1", "v3", "c1")
		s.settle(500 * time.Hour)
		s.comesBack()
		s.quiet()
		require.NotNil(s.t, s.Object().Status.AbortedTime)
		require.Equal(s.t, s.hashOf("v2"), s.Object().Status.CurrentRevision)
		s.has("v2", "c1", "c2", "c3")
	})
}

// Upstream's hub completed v3, and is in the middle of v4. v3 is the stable version, whether or not this hub already knows it.
func TestStayOfTwoRollouts(t *testing.T) {
	for name, version := range map[string]string{"a new template": "v3", "an older template": "v1"} {
		t.Run(name, func(t *testing.T) {
			each(t, func(s *teller) {
				s.Check = nil // P3 applies to rollouts that this hub saw.
				s.Update(version)
				s.Upstream("p1", version, "c1", "c2", "c3")
				s.settle(500 * time.Hour)
				s.hangs("v4", "c1")
				s.Upstream("p1", "v4", "c1")
				s.settle(500 * time.Hour)
				s.comesBack()
				require.Equal(s.t, s.hashOf(version), s.Object().Status.CurrentRevision)
				s.quiet()
				require.NotNil(s.t, s.Object().Status.AbortedTime)
				s.has(version, "c1", "c2", "c3")
			})
		})
	}
}

// Upstream's hub rolled v3 out, and the template is v4 when this hub returns. If clusters have v3 and an abandoned version, it is unknown
// which of them was stable.
func TestStayOfThreeSpecs(t *testing.T) {
	each(t, func(s *teller) {
		s.Upstream("p1", "v3", "c1", "c2")
		s.Upstream("p1", "v5", "c3")
		s.settle(500 * time.Hour)
		s.hangs("v4", "c1")
		s.Upgrade()
		s.quiet()
		require.Nil(s.t, s.Object().Status.AbortedTime)
		require.Empty(s.t, s.Object().Status.CurrentRevision)
		require.NotEmpty(s.t, s.hashOf("v3"))
		require.NotEmpty(s.t, s.hashOf("v5"))
		s.has("v4", "c1")
		s.has("v3", "c2")
		s.has("v5", "c3")
	})
}

// Upstream's hub took over during an abort, and has since rolled out another template. No cluster is restored.
func TestStayDuringAnAbort(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", all("p1", "30s", true))
	s.settle(Forever)
	s.hangs("v2", "")
	s.Fault = failing(s.World, "patch work c2/web", Refused)
	s.settle(32 * time.Second)
	require.NotNil(s.t, s.Object().Status.AbortedTime)
	s.Away = true
	s.Update("v3")
	s.Upstream("p1", "v3", "c1", "c2")
	s.settle(500 * time.Hour)
	s.comesBack()
	s.quiet()
	s.has("v3", "c1", "c2")
	require.Equal(t, s.hashOf("v3"), s.Object().Status.CurrentRevision)
}

// If the template did not change under the other hub, everything stays the same, even if upstream's hub removed the labels.
func TestStayWithoutAChange(t *testing.T) {
	each(t, func(s *teller) {
		current := s.hashOf("v2")
		s.Upstream("p1", "v2", "c1", "c2", "c3")
		s.settle(500 * time.Hour)
		s.comesBack()
		s.quiet()
		require.Equal(s.t, current, s.Object().Status.CurrentRevision)
		require.Equal(s.t, current, s.Object().Status.UpdateRevision)
		s.hangs("v3", "c3")
		s.quiet()
		require.NotNil(s.t, s.Object().Status.AbortedTime)
		s.has("v2", "c1", "c2", "c3")
	})
}

// If a user, or an agent, removes the labels of a work, this hub still knows the stable revision.
func TestStrippedWorkIsNoStay(t *testing.T) {
	for name, marks := range map[string]map[string]any{
		"the hash":  {"labels": map[string]any{workv1alpha1.LabelControllerHash: nil}},
		"all marks": {"labels": map[string]any{workv1alpha1.LabelControllerHash: nil}, "annotations": nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.Create("v1", all("p1", "30s", true))
			s.settle(Forever)
			s.hangs("v2", "c1")
			s.settle(10 * time.Second)
			s.has("v2", "c1", "c2", "c3")
			s.patch(Works, "c3", Name, map[string]any{"metadata": marks}, false)
			s.quiet()
			require.NotNil(s.t, s.Object().Status.AbortedTime)
			s.has("v1", "c1", "c2", "c3")
		})
	}
}

// stay is a story of a hub that returns after another hub rolled out v3, and then v4 to some of the clusters.
func stay(keeps bool, versions ...string) func(w *World) {
	return func(w *World) {
		w.Place("p1", []string{"c1", "c2"})
		for _, version := range []string{"v1", "v2"} {
			if w.Object() == nil {
				w.Create(version, progressive("p1", 1, "30s", 0, true))
			} else {
				w.Update(version)
			}
			if err := w.Settle(Forever); err != nil {
				panic(err)
			}
		}
		w.Away = true
		if !keeps {
			w.Downgrade()
		}
		w.Report("c1", versions[len(versions)-1], Hangs)
		for i, version := range versions {
			clusters := []string{"c1", "c2"}
			if i > 0 {
				clusters = clusters[:1]
			}
			w.Update(version)
			w.Upstream("p1", version, clusters...)
			if err := w.Settle(500 * time.Hour); err != nil {
				panic(err)
			}
		}
	}
}

// TestEveryWriteOfATakeoverMayFail makes each write with which this hub takes over from another fail, and compares the end with that of a
// takeover without faults (P5). One write of a takeover may emit two events, so the events are not compared.
func TestEveryWriteOfATakeoverMayFail(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*World){
		"first sight of three versions":      firstSight,
		"first sight of generated names":     func(w *World) { w.GeneratesNames = true; firstSight(w) },
		"rolled out meanwhile, status lost":  stay(false, "v3"),
		"rolled out meanwhile, status kept":  stay(true, "v3"),
		"undone meanwhile, status lost":      stay(false, "v1"),
		"two versions meanwhile":             stay(false, "v3", "v4"),
		"two versions meanwhile, one of old": stay(true, "v1", "v4"),
		"what was aborted, status kept":      abortedAndRolledOut(leaving["status kept"]),
		"what was aborted, status lost":      abortedAndRolledOut(leaving["status lost"]),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWriteMayFail(t, func() *World {
				w := NewWorld()
				before(w)
				return w
			}, func(w *World, note func(string)) error {
				return w.live(note, []chapter{{"takeover", w.Upgrade}})
			}, func([]string, []string, Fault) error { return nil })
		})
	}
}

// TestReturnAfterAStayDuringAPause: another hub, which ignores spec.paused, rolled out the template of a paused object. If the user puts the
// earlier template back, its revision becomes stable again when every cluster has it, and a later rollout can be aborted to it.
func TestReturnAfterAStayDuringAPause(t *testing.T) {
	s := takenOver(t, true)
	s.Away = false
	s.Pause(true)
	s.quiet()
	s.Away = true
	s.Update("v3")
	s.Upstream("p1", "v3", "c1", "c2", "c3")
	s.settle(Forever)
	s.Upgrade()
	s.quiet()
	s.has("v3", "c1", "c2", "c3")
	s.Update("v2")
	s.Pause(false)
	s.quiet()
	s.has("v2", "c1", "c2", "c3")
	require.Equal(t, s.hashOf("v2"), s.Object().Status.CurrentRevision, s.story())
	s.hangs("v4", "c1")
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime)
	s.has("v2", "c1", "c2", "c3")
}
