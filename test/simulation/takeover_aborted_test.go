package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// abortedAndRolledOut is a story in which this hub aborted a rollout, another hub rolled out the same version, and then this hub returns.
func abortedAndRolledOut(leave func(*World)) func(*World) {
	return func(w *World) {
		w.Place("p1", []string{"c1", "c2", "c3"})
		w.Create("v1", progressive("p1", 1, "30s", 0, true))
		must(w.Settle(Forever))
		w.Report("c1", "v2", Hangs)
		w.Update("v2")
		must(w.Settle(Forever))
		leave(w)
		w.Report("c1", "v2", Succeeds)
		w.Upstream("p1", "v2", "c1", "c2", "c3")
		must(w.Settle(30 * 24 * time.Hour))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// leaving are the ways in which another hub replaces this one after an abort: its CRD keeps the status, its CRD drops the fields, or a user
// restored some of them.
var leaving = map[string]func(*World){
	"status kept":      func(w *World) { w.Away = true },
	"status lost":      (*World).Downgrade,
	"abortedTime lost": func(w *World) { w.Away = true; w.Retry() },
}

// R16: another hub rolled out the template whose rollout was aborted here, and every cluster succeeded with it. The abort has ended, no
// cluster is restored, and the next abort restores the version that the fleet has.
func TestStayThatRolledOutWhatWasAborted(t *testing.T) {
	for name, leave := range leaving {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			abortedAndRolledOut(leave)(s.World)
			s.comesBack()
			s.quiet()
			s.has("v2", "c1", "c2", "c3")
			require.Nil(t, s.Object().Status.AbortedTime)
			require.Equal(t, s.hashOf("v2"), s.Object().Status.CurrentRevision, s.story())
			s.Restart()
			s.wipeStatus()
			s.quiet()
			s.has("v2", "c1", "c2", "c3")
			s.hangs("v3", "c1")
			s.quiet()
			require.NotNil(t, s.Object().Status.AbortedTime)
			s.has("v2", "c1", "c2", "c3")
		})
	}
}

// R12, R16: if a cluster does not have the aborted version as another hub wrote it, the abort continues.
func TestStayThatFailedAgain(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	abortedAndRolledOut(func(w *World) { w.Away = true })(s.World)
	s.Report("c3", "v2", Degrades)
	s.settle(time.Hour)
	s.Upgrade()
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime)
	s.has("v1", "c1", "c2", "c3")
}
