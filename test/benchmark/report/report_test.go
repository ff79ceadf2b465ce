package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUnits(t *testing.T) {
	for value, wanted := range map[float64]string{0: "0", 1: "1", 1234.5: "1234", 0.00123456: "0.00123", 12.34: "12.3", -0.5: "-0.5", 100: "100"} {
		require.Equal(t, wanted, number(value))
	}
	for value, wanted := range map[float64]string{0: "0 s", 2.5e-6: "2.5 µs", 0.0031: "3.1 ms", 41.85: "41.9 s"} {
		require.Equal(t, wanted, seconds(value))
	}
	for value, wanted := range map[float64]string{12: "12 B", 3500: "3.5 kB", 192.8e6: "193 MB", 2e9: "2 GB"} {
		require.Equal(t, wanted, bytes(value))
	}
}

func TestRequestsOfFigures(t *testing.T) {
	f := Figures{Requests: map[string]int{
		"PATCH manifestworks": 7, "POST manifestworks": 3, "GET manifestworks": 2, "PATCH manifestworkreplicasets/status": 5,
		"PATCH manifestworkreplicasets": 1, "POST events": 4,
	}}
	require.Equal(t, 10, f.workWrites())
	require.Equal(t, 5, f.statusWrites())
	require.Equal(t, 7, f.otherRequests())
}

func TestMarkdown(t *testing.T) {
	r := &Run{
		Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Machine: "2 cores", Command: "make bench", Settle: 3, Delay: 1,
		Figures: []Figures{
			{Scenario: All, Controller: Floor, Clusters: 1000, Sets: 1, Workers: 16, Works: 1000, LastWrite: 8.33},
			{Scenario: Quiet, Controller: Ours, Clusters: 1000, Sets: 1, CPU: 0.003},
		},
	}
	text := r.Markdown()
	require.Contains(t, text, "2 January 2026, 2 cores. Agents answer after 1 s, and ours believes a success after it has seen it for 3 s.\nMade by `make bench`.")
	require.Contains(t, text, "| status event that changes nothing | 1000 | 1 | ours | 3 ms |")
	require.Contains(t, text, "| update All | 1000 | 1 | floor, 16 workers |  | 0 s | 8.33 s |")
	columns := -1
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case !strings.HasPrefix(line, "|"):
			columns = -1
		case columns < 0:
			columns = strings.Count(line, "|")
		default:
			require.Equal(t, columns, strings.Count(line, "|"), line)
		}
	}
}
