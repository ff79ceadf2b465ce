package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// abortedUnder is a world in which v2 was aborted. The revision of v2 has a hash that this binary does not compute, as if an older binary
// had created it.
func abortedUnder(t *testing.T, hash string) *teller {
	t.Helper()
	s := rolledOut(t)
	s.hangs("v2", "c1")
	template := Template("v2")
	object, err := revision.New(s.Object(), &template, hash, 2)
	s.must(err)
	_, err = s.API.Create(Revisions, from(object))
	s.must(err)
	s.quiet()
	s.aborted(hash)
	s.Report("c1", "v2", Succeeds)
	return s
}

// aborted checks that a revision is the one that was aborted, and that no cluster has it.
func (s *teller) aborted(update string) {
	s.t.Helper()
	s.everywhere("v1")
	require.NotNil(s.t, s.Object().Status.AbortedTime)
	require.Equal(s.t, update, s.Object().Status.UpdateRevision)
}

func (s *teller) forbid() {
	s.Tell("admin: takes the permission away")
	s.API.NoHistory = true
}

func (s *teller) allow() {
	s.Tell("admin: grants the permission")
	s.API.NoHistory = false
}

// R1, R4: while the history can't be read, an aborted revision is not rolled out again, even if its hash would be different today.
func TestAbortedStaysAbortedWithoutHistory(t *testing.T) {
	for name, restart := range map[string]bool{"the same process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			s := abortedUnder(t, "older")
			s.forbid()
			if restart {
				s.restarts()
			}
			s.settle(5 * time.Minute)
			s.aborted("older")
			s.Edit("allows a failure", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{progressive("p1", 1, "30s", 1, true)}
			})
			s.settle(5 * time.Minute)
			s.aborted("older")
			s.allow()
			s.quiet()
			s.aborted("older")
		})
	}
}

// R4: even without a history, a new template begins a new rollout if this process still knows that the previous one was aborted.
func TestNewTemplateAfterAnAbortWithoutHistory(t *testing.T) {
	s := abortedUnder(t, "older")
	s.forbid()
	s.settle(time.Minute)
	s.Update("v3")
	s.settle(5 * time.Minute)
	s.everywhere("v3")
	s.allow()
	s.quiet()
}

// P6: the work of a cluster is restored after a restart as soon as its revision can be read, so that the revision is not pruned before.
func TestRevisionThatOnlyAgentsReportIsKept(t *testing.T) {
	s := overBroker(t)
	s.stable(all("p1", "None", false), "c1", "c2")
	s.Report("", "v2", Hangs)
	s.Report("", "v3", Hangs)
	s.Update("v2")
	s.settle(time.Minute)
	s.Edit("rolls out to one cluster at a time, and keeps no old revision", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{progressive("p1", 1, "None", 0, false)}
		spec.RevisionHistoryLimit = new(int32)
		spec.ManifestWorkTemplate = Template("v3")
	})
	s.settle(time.Minute)
	s.has("v3", "c1")
	s.has("v2", "c2")
	s.forbid()
	s.restarts()
	s.settle(5 * time.Minute)
	s.allow()
	s.quiet()
	s.has("v2", "c2")
	require.Len(t, s.Revisions(), 3, s.story())
}

// P3: if a user wipes the status while the history can't be read, the state of the last pass applies, and not that of the last pass with a
// history.
func TestWipedStatusWithoutHistoryIsThatOfTheLastPass(t *testing.T) {
	s := rolledOut(t)
	s.forbid()
	s.settle(5 * time.Minute)
	s.allow()
	s.Update("v2")
	s.quiet()
	s.everywhere("v2")
	s.hangs("v3", "c2")
	s.settle(10 * time.Second)
	s.forbid()
	s.wipeStatus()
	s.settle(5 * time.Minute)
	require.Equal(t, s.hashOf("v2"), s.Object().Status.CurrentRevision, s.story())
	require.Equal(t, s.hashOf("v3"), s.Object().Status.UpdateRevision, s.story())
	s.allow()
	s.quiet()
	s.everywhere("v2")
}

// P5, R43: a restart forgets nothing that was decided while the history could not be read. No abort returns to the revision that was stable
// before that time.
func TestDecisionsWithoutHistoryOutliveTheProcess(t *testing.T) {
	for name, restart := range map[string]bool{"the same process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			s := rolledOut(t)
			s.forbid()
			s.settle(time.Minute)
			s.Update("v2")
			s.settle(time.Minute)
			stable := s.Object().Status.CurrentRevision
			s.hangs("v3", "c1")
			s.settle(10 * time.Second)
			if restart {
				s.restarts()
			}
			s.allow()
			s.quiet()
			require.Equal(t, stable, s.Object().Status.CurrentRevision, s.story())
			require.Nil(t, s.Object().Status.AbortedTime, s.story())
			s.everywhere("v3")
		})
	}
}

// R28: while the history can't be read, works that keep objects of another revision continue to keep them.
func TestKeptObjectsStayWithoutHistory(t *testing.T) {
	for name, restart := range map[string]bool{"the same process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.Drops = true
			s.Check = func(write string) { s.must(s.CheckWrite(write)) }
			s.handsOver(all("p1", "None", false), "", Hangs)
			s.settle(time.Minute)
			s.hasObjects("app-v1 app-v2 demo", "c1", "c2")
			s.forbid()
			if restart {
				s.restarts()
			}
			s.settle(10 * time.Second)
			s.Report("c1", "v2", Succeeds)
			s.settle(5 * time.Minute)
			s.hasObjects("app-v1 app-v2 demo", "c1", "c2")
			s.says(workv1alpha1.ConditionProgressing, "keep objects of an older revision")
			s.hangs("v3", "")
			s.settle(5 * time.Minute)
			s.hasObjects("app-v1 app-v2 demo", "c1", "c2")
			s.allow()
			s.settle(time.Minute)
			s.hasObjects("app-v2 app-v3 demo", "c1")
			s.hasObjects("app-v1 app-v3 demo", "c2")
			s.must(s.brokenHandover)
		})
	}
}

// R10, R28: while the history is unreadable, a work that keeps objects occupies its slot: no other cluster is started (P4).
func TestKeptObjectsHoldTheirSlotWithoutHistory(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Drops = true
	s.Check = func(write string) { s.must(s.CheckWrite(write)) }
	s.handsOver(progressive("p1", 1, "None", 0, false), "", Hangs)
	s.settle(time.Minute)
	s.hasObjects("app-v1 app-v2 demo", "c1")
	s.forbid()
	s.restarts()
	s.Place("p1", []string{"c0", "c1", "c2"})
	s.settle(5 * time.Minute)
	s.hasObjects("app-v1 app-v2 demo", "c1")
	s.hasObjects("app-v1 demo", "c2")
	require.Len(t, s.Works(), 2, s.story())
	s.allow()
	s.Report("", "v2", Succeeds)
	s.quiet()
	s.hasObjects("app-v2 demo", "c0", "c1", "c2")
	s.must(s.brokenHandover)
}
