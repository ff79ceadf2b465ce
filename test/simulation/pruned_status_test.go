package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStatusThatNamesAPrunedRevision: a status from a backup names a revision that has been pruned since. The hub corrects it, even during
// a pause.
func TestStatusThatNamesAPrunedRevision(t *testing.T) {
	for name, paused := range map[string]bool{"paused": true, "not paused": false} {
		for process, restart := range map[string]bool{"the same process": false, "another process": true} {
			t.Run(name+", "+process, func(t *testing.T) {
				s := &teller{World: NewWorld(), t: t}
				s.Place("p1", []string{"c1", "c2"})
				s.Create("v1", progressive("p1", 2, "30s", 0, true))
				s.keepsOlder(0)
				s.quiet()
				saved := s.status()
				s.Update("v2")
				s.quiet()
				if paused {
					s.Pause(true)
					s.quiet()
				}
				s.restore(saved, restart)
				s.settle(time.Minute)
				require.NotEqual(t, saved.CurrentRevision, s.Object().Status.CurrentRevision)
				require.NotEqual(t, saved.UpdateRevision, s.Object().Status.UpdateRevision)
				if paused {
					s.Pause(false)
				}
				s.quiet()
				s.everywhere("v2")
				require.NotEqual(t, saved.CurrentRevision, s.Object().Status.CurrentRevision)
			})
		}
	}
}
