package simulation

import (
	"testing"
	"time"
)

// TestStoriesOfHolds plays named stories of reported aborts, and of holds and windows.
func TestStoriesOfHolds(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"an abort is reported only": func(s *teller) {
			s.stable(reporting(progressive("p1", 2, "30s", 0, true)), "c1", "c2", "c3")
			s.hangs("v2", "c2")
			s.quiet()
			s.Report("c2", "v2", Succeeds)
			s.quiet()
			s.Update("v1")
			s.quiet()
		},
		"a cluster is on hold and another one outside of its windows": func(s *teller) {
			s.Join("c1", "c2", "c3")
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			s.Hold("c1", "the rack is moved")
			s.Windows("c2", "Europe/Berlin Fri 22:00-05:00")
			s.Update("v2")
			s.settle(time.Minute)
			s.conditions()
			s.settle(17 * time.Hour)
			s.conditions()
			s.Hold("c1", "")
			s.quiet()
		},
	})
}
