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

// measured is a run of two sizes.
func measured() *Run {
	r := &Run{Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Machine: "2 cores", Command: "make bench", Settle: 3, Delay: 1}
	add := func(scenario, controller string, n int, change func(*Figures)) {
		f := Figures{Scenario: scenario, Controller: controller, Clusters: n, Sets: 1}
		change(&f)
		r.Figures = append(r.Figures, f)
	}
	for _, n := range []int{300, 1000} {
		size := float64(n)
		add(Quiet, Ours, n, func(f *Figures) { f.CPU, f.AllocatedObjects = 0.003, 9*size })
		add(Quiet, Upstream, n, func(f *Figures) { f.CPU = size / 200 })
		add(First, Ours, n, func(f *Figures) { f.LiveHeap = size * 50e3 })
		add(First, Upstream, n, func(f *Figures) { f.LiveHeap = size * 100e3 })
		add(All, Ours, n, func(f *Figures) {
			f.CPU, f.Works, f.LastWrite, f.Complete = size/200, n, size/100, size/100+4
			f.Requests = map[string]int{"PATCH manifestworks": n + 1, "PATCH manifestworkreplicasets/status": 12}
		})
		add(All, Upstream, n, func(f *Figures) { f.CPU, f.LastWrite = size/30, size/40 })
		add(All, Floor, n, func(f *Figures) { f.Workers, f.Works, f.LastWrite = 16, n, size/120 })
		add(All, Floor, n, func(f *Figures) { f.Workers, f.Works, f.LastWrite = 64, n, size/110 })
		add(Abort, Floor, n, func(f *Figures) { f.Workers, f.Works, f.LastWrite = 16, n, size/120 })
		add(Abort, Ours, n, func(f *Figures) { f.Works, f.FirstWrite, f.LastWrite = n, 0.25, size/119 })
	}
	add(Alone, Ours, 1000, func(f *Figures) { f.Works, f.LastWrite = 1000, 12 })
	add(Beside, Ours, 1000, func(f *Figures) { f.Works, f.LastWrite = 1000, 15 })
	many := Figures{Scenario: QuietOfMany, Controller: Ours, Clusters: 100, Sets: 1, CPU: 0.001}
	r.Figures = append(r.Figures, many)
	many.Sets, many.CPU = 100, 0.0015
	r.Figures = append(r.Figures, many)
	return r
}

func TestMarkdown(t *testing.T) {
	text := measured().Markdown()
	require.Contains(t, text, "2 January 2026, 2 cores. Agents answer after 1 s, and ours believes a success after it has seen it for 3 s.\nMade by `make bench`.")
	require.Contains(t, text, " | 0.0006 |  |\n", "the CPU time of an event, of upstream's")
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

// Of several rounds the one in the middle counts.
func TestRounds(t *testing.T) {
	r := &Run{}
	add := func(controller string, seconds ...float64) {
		for _, s := range seconds {
			r.Figures = append(r.Figures, Figures{Scenario: All, Controller: controller, Clusters: 10, Sets: 1, CPU: 2 * s, LastWrite: s})
		}
	}
	add(Ours, 1, 5, 2)
	add(Upstream, 9, 8)
	require.InDelta(t, 2, r.find(All, Ours, 10, 1).LastWrite, 0)
	require.InDelta(t, 8, r.find(All, Upstream, 10, 1).LastWrite, 0)
	require.Nil(t, r.find(Abort, Ours, 10, 1))
	require.Nil(t, r.find(All, Ours, 10, 2))
	require.Equal(t, []string{"0.25", "0.25"}, r.ratios(&r.Figures[2]))
	require.Equal(t, []string{"", ""}, r.ratios(&r.Figures[0]), "it is in one row")
}
