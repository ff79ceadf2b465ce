package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRejectedWritesHaveAPace: a write that the API server rejects is retried at a bounded pace, regardless of its purpose (P7, P8).
func TestRejectedWritesHaveAPace(t *testing.T) {
	for name, reject := range map[string]func(*teller){
		// c1 is rejected at v2, and its work is at v1 without the hash of v1.
		"a work without its hash": func(s *teller) {
			s.Refuse("c1", Denied)
			s.strip("c1")
			s.Update("v2")
		},
		// c1 failed at v2, and a user retries it.
		"a retried cluster": func(s *teller) {
			s.hangs("v2", "c1")
			s.settle(time.Minute)
			require.Equal(s.t, []string{"c1"}, s.failed())
			s.Refuse("c1", Denied)
			s.forgive("c1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.stable(progressive("p1", 1, "30s", 0, false), "c1", "c2")
			reject(s)
			s.settle(2 * time.Minute)
			tries := strings.Count(s.story(), "fault: patch work c1/web")
			require.Positive(t, tries, s.story())
			require.LessOrEqual(t, tries, 30)
		})
	}
}
