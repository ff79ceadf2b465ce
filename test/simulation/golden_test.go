package simulation

import (
	"testing"
	"time"
)

// TestStories plays named stories of rollouts, undos and aborts.
func TestStories(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"first rollout, update, undo": func(s *teller) {
			s.stable(progressive("p1", 2, "30s", 0, true), "c1", "c2", "c3")
			s.Update("v2")
			s.quiet()
			s.Update("v1")
			s.quiet()
		},
		"undo with one silent cluster and AbortAll": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			s.Update("v2")
			s.quiet()
			s.Report("c2", "v1", Silent)
			s.Update("v1")
			s.quiet()
			s.Tell("agents: c2 is back")
			s.Report("c2", "v1", Succeeds)
			s.quiet()
		},
		"undo that fails is aborted by hand": func(s *teller) {
			s.stable(all("p1", "30s", true), "c1", "c2")
			s.Update("v2")
			s.quiet()
			s.hangs("v1", "c2")
			s.quiet()
			s.AbortByHand()
			s.quiet()
		},
		"abort by hand": func(s *teller) {
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.Create("v1", progressive("p1", 1, "None", 0, false))
			s.settle(time.Second)
			s.AbortByHand()
			s.quiet()
			s.AbortByHand()
			s.quiet()
			s.hangs("v2", "c2")
			s.settle(10 * time.Second)
			s.AbortByHand()
			s.quiet()
			s.Update("v3")
			s.quiet()
		},
		"abort under Progressive": func(s *teller) {
			s.stable(progressive("p1", 2, "30s", 0, true), "c1", "c2", "c3")
			s.hangs("v2", "c2")
			s.quiet()
		},
		"abort under ProgressivePerGroup takes the group that succeeded back too": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"}, []string{"c3", "c4"})
			s.Create("v1", perGroup("p1", "30s", 0, true))
			s.quiet()
			s.Report("c4", "v2", Degrades)
			s.Update("v2")
			s.quiet()
		},
		"abort of one placement brings the other back": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"})
			s.Place("p2", []string{"c3", "c4"})
			s.Create("v1", progressive("p1", 1, "30s", 0, true), all("p2", "None", false))
			s.quiet()
			s.Report("c1", "v2", Silent)
			s.Update("v2")
			s.quiet()
			s.Tell("agents: c1 is back")
			s.Report("c1", "v2", Succeeds)
			s.quiet()
		},
		"first rollout that fails stops": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"})
			s.Report("", "v1", Hangs)
			s.Create("v1", progressive("p1", 1, "30s", 0, true))
			s.quiet()
		},
		"without failureStrategy it stops, and a late success heals it": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, false), "c1", "c2")
			s.hangs("v2", "c1")
			s.quiet()
			s.Tell("agents: c1 gets there after all")
			s.Report("c1", "v2", Succeeds)
			s.quiet()
		},
		"an agent that tells of the old version first": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.Report("", "v2", LiesThenHangs)
			s.Update("v2")
			s.quiet()
		},
		"a new version while an abort is being carried out": func(s *teller) {
			s.stable(all("p1", "30s", true), "c1", "c2")
			s.hangs("v2", "")
			s.Fault = failing(s.World, "patch work c2/web", Refused)
			s.settle(32 * time.Second)
			s.Update("v3")
			s.quiet()
		},
		"retry after an abort": func(s *teller) {
			s.aborts()
			s.Report("c1", "v2", Succeeds)
			s.Retry()
			s.quiet()
		},
		"clusters leave and join in the middle": func(s *teller) {
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.Create("v1", progressive("p1", 1, "30s", 0, true))
			s.settle(3 * time.Second)
			s.Place("p1", []string{"c2", "c4"})
			s.quiet()
		},
		"a broken cluster that is deselected still counts": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			s.Report("c1", "v2", Silent)
			s.Update("v2")
			s.settle(time.Second)
			s.Place("p1", []string{"c2", "c3"})
			s.quiet()
		},
	})
}
