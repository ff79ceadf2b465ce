package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestAfterAToleratedFailure: a rollout is complete without an offline cluster. Any later return goes to that revision, or keeps it.
func TestAfterAToleratedFailure(t *testing.T) {
	for name, follows := range map[string]func(*teller) (version string){
		"a new template": func(s *teller) string {
			s.Update("v3")
			s.settle(10 * time.Minute)
			return "v3"
		},
		"a new template that fails, and a restart": func(s *teller) string {
			s.hangs("v3", "c1", "c2")
			s.settle(20 * time.Second)
			s.Restart()
			s.settle(10 * time.Minute)
			require.NotNil(s.t, s.Object().Status.AbortedTime)
			return "v2"
		},
		"an undo": func(s *teller) string {
			s.Update("v1")
			s.settle(10 * time.Minute)
			require.Equal(s.t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision)
			return "v1"
		},
		"an abort by hand of the next rollout": func(s *teller) string {
			s.hangs("v3", "c2")
			s.settle(20 * time.Second)
			s.AbortByHand()
			s.settle(time.Minute)
			return "v2"
		},
		"a status that is lost, and a restart": func(s *teller) string {
			s.wipeStatus()
			s.Restart()
			s.settle(10 * time.Minute)
			require.Equal(s.t, []string{"c4"}, s.failed())
			require.Equal(s.t, workv1alpha1.StateComplete, s.Object().Status.State)
			return "v2"
		},
		"a lower maxFailures, and a restart": func(s *teller) string {
			s.Edit("tolerates no failure", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs[0] = progressive("p1", 2, "30s", 0, true)
			})
			s.Restart()
			s.settle(10 * time.Minute)
			require.Nil(s.t, s.Object().Status.AbortedTime)
			require.Equal(s.t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision)
			return "v2"
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := checkedStory(t)
			s.stable(progressive("p1", 2, "30s", 1, true), "c1", "c2", "c3", "c4")
			s.Report("c4", "", Silent)
			s.Update("v2")
			s.quiet()
			version := follows(s)
			s.has(version, "c1", "c2", "c3")
			s.Report("c4", "", Succeeds)
			s.Report("c4", "v2", Succeeds)
			s.quiet()
		})
	}
}

// TestRevertInHandover: a template that returns to the current revision while clusters keep objects of it.
func TestRevertInHandover(t *testing.T) {
	for name, happens := range map[string]func(*teller){
		"alone":                                func(*teller) {},
		"and the hub restarts":                 func(s *teller) { s.Restart() },
		"and the status is lost":               func(s *teller) { s.wipeStatus(); s.Restart() },
		"and another template comes, and goes": func(s *teller) { s.Update("v3"); s.settle(12 * time.Second); s.Update("v1") },
		"and the API server rejects it for some time": func(s *teller) {
			s.Refuse("c1", Denied)
			s.settle(20 * time.Second)
			s.Refuse("c1", NoFault)
		},
		"and pruneStrategy becomes Immediate": func(s *teller) {
			s.Edit("sets pruneStrategy to Immediate", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PruneStrategy = workv1alpha1.PruneImmediate
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := checkedStory(t)
			s.Drops = true
			s.stable(progressive("p1", 1, "30s", 1, false), "c1", "c2", "c3", "c4")
			s.hangs("v2", "c2")
			s.settle(20 * time.Second)
			s.Update("v1")
			s.settle(time.Millisecond)
			happens(s)
			s.settle(15 * time.Second)
			s.everywhere("v1")
			s.quiet()
			require.Equal(t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision)
		})
	}
}

// TestFailureOutlivesAnotherStrategy: other fields of the strategy change the effect of the failures, but do not remove failures.
func TestFailureOutlivesAnotherStrategy(t *testing.T) {
	for name, ref := range map[string]workv1alpha1.LocalPlacementReference{
		"no deadline":            progressive("p1", 2, "None", 0, false),
		"a longer deadline":      progressive("p1", 2, "1h", 0, false),
		"all at once":            all("p1", "1h", false),
		"by group":               perGroup("p1", "1h", 0, false),
		"one that can't be read": progressive("p1", 2, "never", 0, false),
	} {
		t.Run(name, func(t *testing.T) {
			s := stalledOn(t, func(*teller) {}, "c1", "c2", "c3", "c4")
			for _, ref := range []workv1alpha1.LocalPlacementReference{ref, progressive("p1", 2, "30s", 0, false)} {
				s.Edit("changes the strategy", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.PlacementRefs[0] = ref })
				s.Restart()
				s.settle(10 * time.Minute)
				require.Equal(t, []string{"c1", "c2"}, s.failed(), s.story())
				s.stays(map[string]string{"c1": "v2", "c2": "v2", "c3": "v1", "c4": "v1"})
			}
		})
	}
}

// TestFailureOutlivesAPauseWithAnotherTemplate: a cluster fails during a pause, the template changes and changes back, and the hub
// restarts.
func TestFailureOutlivesAPauseWithAnotherTemplate(t *testing.T) {
	s := checkedStory(t)
	s.stable(progressive("p1", 2, "30s", 0, false), "c1", "c2", "c3", "c4", "c5", "c6")
	s.hangs("v2", "c1")
	s.settle(7 * time.Second)
	s.Pause(true)
	s.settle(2 * time.Minute)
	require.Equal(t, []string{"c1"}, s.failed())
	s.Update("v3")
	s.settle(time.Minute)
	s.Restart()
	s.settle(time.Second)
	s.Update("v2")
	s.Pause(false)
	s.settle(10 * time.Minute)
	require.Equal(t, []string{"c1"}, s.failed(), s.story())
	s.has("v1", "c4", "c5", "c6")
	s.Report("c1", "v2", Succeeds)
	s.quiet()
	s.everywhere("v2")
}

// TestRevertsDuringPausesAndRejections: the template returns twice: during a pause, and while a work can't be written.
func TestRevertsDuringPausesAndRejections(t *testing.T) {
	s := checkedStory(t)
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3", "c4")
	s.hangs("v2", "c1")
	s.settle(10 * time.Second)
	s.Pause(true)
	s.Update("v1")
	s.settle(time.Minute)
	s.Restart()
	s.settle(time.Minute)
	s.Refuse("c1", Denied)
	s.Pause(false)
	s.settle(20 * time.Second)
	s.Update("v2")
	s.settle(5 * time.Second)
	s.Update("v1")
	s.settle(5 * time.Second)
	s.Refuse("c1", NoFault)
	s.quiet()
	s.everywhere("v1")
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
}

// TestFailureOutlivesItsHistory: ControllerRevisions are deleted or can't be read, and the status is wiped again and again.
func TestFailureOutlivesItsHistory(t *testing.T) {
	for name, happens := range map[string]func(*teller){
		"deleted": func(s *teller) {
			for _, rev := range s.Revisions() {
				s.DeleteRevision(rev.Name)
			}
		},
		"not readable": (*teller).forbid,
		"with a wiped status": func(s *teller) {
			for range 3 {
				s.wipeStatus()
				s.settle(time.Minute)
			}
		},
		"with another history limit": func(s *teller) {
			s.Edit("keeps no history", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.RevisionHistoryLimit = ptr.To[int32](0)
			})
		},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s := stalledOn(t, func(*teller) {}, "c1", "c2", "c3", "c4")
				happens(s)
				if restart {
					s.Restart()
				}
				s.settle(10 * time.Minute)
				s.allow()
				s.settle(10 * time.Minute)
				require.Equal(t, []string{"c1", "c2"}, s.failed(), s.story())
				require.Equal(t, []string{"v1", "v1"}, []string{s.held("c3"), s.held("c4")})
			})
		}
	}
}

// TestStalledOverABroker: a restart, a revert and a lost status in a stalled rollout over a broker.
func TestStalledOverABroker(t *testing.T) {
	for name, happens := range map[string]struct {
		do      func(*teller)
		version string
	}{
		"a restart, and a silent agent": {func(s *teller) { s.Report("c1", "", Silent); s.Restart() }, "v2"},
		"a lost status, and a restart":  {func(s *teller) { s.wipeStatus(); s.Restart() }, "v2"},
		"a revert":                      {func(s *teller) { s.Update("v1") }, "v1"},
		"a revert, and a restart":       {func(s *teller) { s.Update("v1"); s.settle(time.Millisecond); s.Restart() }, "v1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := overBroker(t)
			s.Place("p1", []string{"c1", "c2", "c3", "c4"})
			s.Create("v1", progressive("p1", 1, "30s", 0, false))
			s.settle(10 * time.Minute)
			s.hangs("v2", "c1")
			s.settle(2 * time.Minute)
			require.Equal(t, []string{"c1"}, s.failed())
			happens.do(s)
			s.settle(10 * time.Minute)
			s.has(happens.version, "c1")
			s.has("v1", "c2", "c3", "c4")
			require.Equal(t, happens.version == "v2", len(s.failed()) == 1)
		})
	}
}
