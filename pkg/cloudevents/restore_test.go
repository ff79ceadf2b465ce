package cloudevents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// How long no agent must have reported anything new follows from how quickly the others did: never longer than restoreQuiet, and that where
// nobody knows the pace.
func TestRestoreQuiet(t *testing.T) {
	for name, tc := range map[string]struct {
		works int
		every time.Duration
		// longest is a pause among them.
		longest time.Duration
		quiet   time.Duration
	}{
		"nobody has answered": {quiet: restoreQuiet},
		"too few to know":     {works: knownPace - 2, every: time.Millisecond, longest: time.Millisecond, quiet: restoreQuiet},
		"many at once":        {works: knownPace, every: time.Millisecond, longest: time.Millisecond, quiet: shortestQuiet},
		"with a pause":        {works: 10 * knownPace, every: time.Millisecond, longest: 400 * time.Millisecond, quiet: 1600 * time.Millisecond},
		"slowly":              {works: knownPace, every: 300 * time.Millisecond, quiet: 1200 * time.Millisecond},
		"very slowly":         {works: knownPace, every: time.Minute, quiet: restoreQuiet},
	} {
		t.Run(name, func(t *testing.T) {
			var p pace
			now, last := noon, time.Time{}
			note := func(after time.Duration) {
				now = now.Add(after)
				p.note(now, last)
				last = now
			}
			for range tc.works {
				note(tc.every)
			}
			if tc.longest > 0 {
				note(tc.longest)
			}
			require.Equal(t, tc.quiet, p.quiet())
		})
	}
}
