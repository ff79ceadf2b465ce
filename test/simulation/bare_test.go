package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// loses deletes the work of a cluster, as a user does.
func (s *teller) loses(cluster string) {
	s.must(s.API.Delete(Works, cluster, Name, nil))
	s.Tell("user: deletes the work of %s", cluster)
}

// TestClusterWithoutAWorkWhileHalted: a cluster without a work gets the stable revision while the rollout starts nothing, and the new one
// when its turn comes.
func TestClusterWithoutAWorkWhileHalted(t *testing.T) {
	for name, restart := range map[string]bool{"one process": false, "two processes": true} {
		t.Run(name, func(t *testing.T) {
			s := checkedStory(t)
			s.stable(progressive("p1", 1, "30s", 0, false), "c1", "c2", "c3")
			s.hangs("v2", "c1")
			s.settle(10 * time.Second)
			s.loses("c3")
			s.settle(5 * time.Second)
			require.Empty(t, s.held("c3"), "the rollout continues, so c3 waits for its turn\n%s", s.story())
			s.settle(time.Minute)
			require.Equal(t, []string{"c1"}, s.failed(), s.story())
			require.Equal(t, "v1", s.held("c3"), s.story())
			if restart {
				s.Restart()
			}
			s.Place("p1", []string{"c1", "c2", "c3", "c4"})
			s.settle(2 * time.Second)
			s.loses("c2")
			s.settle(2 * time.Second)
			require.Equal(t, []string{"v1", "v1"}, []string{s.held("c2"), s.held("c4")}, s.story())
			s.Report("c1", "v2", Succeeds)
			s.quiet()
			s.everywhere("v2")
		})
	}
}
