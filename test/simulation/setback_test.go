package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"
)

// statesOfAStory is the number of states of a story in which the clock is set back. With -every-fault, it is set back in all of them.
const statesOfAStory = 4

// ownTimes are the stories that act or check at fixed times, or check that nothing is written. The grace period after a clock is set back
// changes both.
var ownTimes = sets.New(
	"a new version while an abort is being carried out", "paused in the middle of a rollout", "paused in the middle of an abort",
	"an abort falls due and heals while it is paused", "clusters join and leave while it is paused", "deleted while it is paused",
	"a webhook is down for one cluster in an abort", "an older CRD drops the status fields", "a deletion that hangs holds nothing open",
	"a crash loop fails", "without a deadline maxFailures decides on a refused cluster",
	"a cluster of an earlier group loses its work while a later one is refused",
	"the fix does not wait for a cluster that answers 500 in an abort",
	"an abort is carried out but for the works that can't be written back",
	"a cluster that is cut off by a revision aborts it",
	"a cluster that another placement selects stays with the one that lost it",
	"undo that fails is aborted by hand", "a failed placement without AbortAll stops no other",
)

// setBackEverywhere repeats a story with a hub whose clock is an hour ahead, and corrects the clock in one state of the story at a time.
// The end of the story is the same, and is delayed by at most the grace period of a clock.
func setBackEverywhere(told *teller, name string, play []func(*teller)) {
	if ownTimes.Has(name) {
		return
	}
	again := func(t *testing.T, do func(s *teller, state int)) *teller {
		s, state := &teller{World: NewWorld(), t: t}, 0
		s.HubAhead = time.Hour
		s.Between = func() {
			state++
			do(s, state)
		}
		for _, do := range play {
			do(s)
		}
		return s
	}
	states := 0
	again(told.t, func(_ *teller, state int) { states = state })
	step := 1
	if !*everyFault {
		step = max(1, states/statesOfAStory)
	}
	for at := 1; at <= states; at += step {
		told.t.Run(fmt.Sprintf("set back under state %d", at), func(t *testing.T) {
			s := again(t, func(s *teller, state int) {
				if state == at {
					s.SetBack(time.Hour)
				}
			})
			require.Equal(t, told.state(), s.state(), s.story())
			require.LessOrEqual(t, s.Clock.Since(s.began), told.Clock.Since(told.began)+10*time.Minute, s.story())
		})
	}
}

// setBack adds clocks that are set back, and restored statuses, to the actions of a story.
func (m *model) setBack(actions map[string]func(*rapid.T)) {
	actions["the hub's clock is set back"] = func(t *rapid.T) {
		if m.w.HubAhead > -2*time.Hour {
			by := rapid.SampledFrom([]time.Duration{time.Minute, 5 * time.Minute, 20 * time.Minute, time.Hour}).Draw(t, "by")
			m.w.SetBack(by + 137*time.Millisecond) // A real clock never shows the same nanosecond twice.
			m.w.due = true                         // The status of the hub may change with its clock, but only in the next pass.
		}
	}
	actions["back up the status"] = func(*rapid.T) { m.saved = append(m.saved, m.w.status()) }
	actions["restore a status"] = func(t *rapid.T) {
		if len(m.saved) == 0 {
			return
		}
		saved := rapid.SampledFrom(m.saved).Draw(t, "status")
		m.w.restore(saved, rapid.Bool().Draw(t, "restart"))
	}
}
