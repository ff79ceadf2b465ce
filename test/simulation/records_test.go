package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestZeroTimeInTheRecords: the API server accepts a record that has the zero time. The hub reads it, and continues (R11).
func TestZeroTimeInTheRecords(t *testing.T) {
	s := stalledOn(t, func(*teller) {}, "c1", "c2", "c3", "c4")
	s.Refuse("c3", Denied)
	for _, field := range []string{"failures", "rejections"} {
		s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{field: []any{
			map[string]any{"cluster": "c1", "placement": "p1", "reason": "DeadlineExceeded", "since": "0001-01-01T00:00:00Z"},
			map[string]any{"cluster": "c3", "placement": "p1", "reason": "Rejected", "since": "0001-01-01T00:00:00Z"},
		}}}, true)
		s.settle(5 * time.Minute)
		require.Contains(t, s.failed(), "c1")
		require.Equal(t, "v1", s.held("c4"), strings.Join(s.Story, "\n"))
	}
	require.NoError(t, s.checkSilence())
}
