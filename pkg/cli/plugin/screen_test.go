package plugin

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// TestNarrowScreen: on 40 cells, a table omits its least important columns and cuts the last one, and a text wraps. A file gets everything.
func TestNarrowScreen(t *testing.T) {
	fleet := &view.Fleet{
		Namespace: "default", Name: "web", State: "Stalled", Summary: "1 of 4 clusters confirmed revision 2",
		Why:       strings.Repeat("a message from the hub ", 5),
		Revisions: []view.Revision{{Number: 2, Update: true, Hash: "6dd7d9cc88", ChangeCause: strings.Repeat("名前", 20), CreatedBy: "kubectl"}},
		Bars:      []view.Bar{{Placement: "production", Done: 1, Total: 4, Strategy: "1 at a time"}},
		Next:      []view.Command{{Purpose: "see why", Args: strings.Fields("kubectl mwrs why web a-cluster-with-a-long-name -n default")}},
	}
	o := &options{}
	draw := func(s screen) string {
		var out bytes.Buffer
		require.NoError(t, o.drawFleet(&out, &out, fleet, s))
		return out.String()
	}
	narrow := draw(screen{width: 40})
	for line := range strings.Lines(narrow) {
		require.LessOrEqual(t, plain.Width(strings.TrimSuffix(line, "\n")), 40, narrow)
	}
	require.NotContains(t, narrow, "HASH")
	require.Contains(t, narrow, " \\\n", "a command can be copied")
	require.Contains(t, draw(screen{}), "6dd7d9cc88")
	require.NotContains(t, draw(screen{}), "\x1b")
	require.Contains(t, draw(screen{color: true}), "\x1b[31mStalled\x1b[0m")
}

// TestCutBetweenCharacters: neither end of a text is cut between an accent and its letter, or between the halves of a flag.
func TestCutBetweenCharacters(t *testing.T) {
	const flags, accents = "🇩🇪🇫🇷🇮🇹", "e\u0301e\u0301e\u0301"
	require.Equal(t, "🇩🇪…", cut(flags, 4))
	require.Equal(t, "🇩🇪🇫🇷…", cut(flags, 5))
	require.Equal(t, "…🇮🇹", tail(flags, 4))
	require.Equal(t, "e\u0301…", cut(accents, 2))
	require.Equal(t, "…e\u0301", tail(accents, 2))
	require.Equal(t, "…", cut(flags, 1))
	require.Empty(t, cut(flags, 0))
	require.Equal(t, "  🇩🇪\n  🇫🇷\n  🇮🇹\n", screen{width: 3}.prose("  ", flags), "what is wider than the screen has a line of its own")
}

// TestColors: a terminal has colors, unless NO_COLOR is set to any value, or TERM is dumb. Its size is known in any case. A file has
// neither colors nor a size.
func TestColors(t *testing.T) {
	require.Equal(t, screen{}, screenOf(&bytes.Buffer{}))
	for state, want := range map[string]string{"Failed": "\x1b[31mFailed\x1b[0m", "unknown": "unknown"} {
		var out bytes.Buffer
		newPrinter(&out, screen{color: true}).state(state)
		newPrinter(&out, screen{}).state(state)
		require.Equal(t, want+state, out.String())
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("the machine has no terminals: %v", err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	require.NoError(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	for _, c := range []struct {
		noColor, term string
		color         bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"0", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		require.Equal(t, screen{width: 80, height: 24, color: c.color}, screenOf(terminal), "NO_COLOR=%s TERM=%s", c.noColor, c.term)
	}
}

// TestCanvas: a screen is drawn over the previous screen, with at most as many lines as the terminal has. At the end, the whole last screen
// remains. A file gets a screen only if it differs from the previous one.
func TestCanvas(t *testing.T) {
	var out bytes.Buffer
	c := &canvas{out: &out, terminal: true, size: func() screen { return screen{width: 20, height: 4} }}
	show := func(lines int) painter {
		return func(body, foot io.Writer, _ screen) error {
			for i := range lines {
				_, _ = fmt.Fprintf(body, "line %d\n", i)
			}
			_, _ = fmt.Fprintln(foot, "foot")
			return nil
		}
	}
	require.NoError(t, c.draw(show(1)))
	require.Equal(t, "\n\n\n\n"+home+eraseLine+"line 0\r\n"+eraseRest+"foot", out.String())
	out.Reset()
	require.NoError(t, c.draw(show(5)))
	require.Equal(t, home+eraseLine+"line 0\r\n"+eraseLine+"line 1\r\n"+eraseLine+"… 3 more lines\r\n"+eraseRest+"foot", out.String())
	out.Reset()
	require.NoError(t, c.close())
	require.Equal(t, home+eraseRest+"line 0\nline 1\nline 2\nline 3\nline 4\nfoot\n", out.String())

	out.Reset()
	c = &canvas{out: &out, size: func() screen { return screen{} }}
	for _, lines := range []int{1, 1, 2} {
		require.NoError(t, c.draw(show(lines)))
	}
	require.NoError(t, c.close())
	require.Equal(t, "line 0\nfoot\n\nline 0\nline 1\nfoot\n", out.String())
}

// TestClipped: the foot stays, and the body keeps a third of a low terminal.
func TestClipped(t *testing.T) {
	rows := func(name string, n int) (rows []string) {
		for i := range n {
			rows = append(rows, fmt.Sprint(name, i))
		}
		return rows
	}
	for _, c := range []struct {
		body, foot, height int
		first, last, more  string
	}{
		{body: 10, foot: 5, height: 15, first: "b9", last: "f4"},
		{body: 11, foot: 5, height: 15, first: "b8", last: "f4", more: "… 2 more lines"},
		{body: 10, foot: 20, height: 12, first: "b3", last: "f6", more: "… 19 more lines"},
		{body: 2, foot: 20, height: 12, first: "b1", last: "f8", more: "… 11 more lines"},
		{body: 3, foot: 3, height: 2, last: "f0", more: "… 5 more lines"},
		{body: 3, foot: 3, height: 0, first: "b2", last: "f2"},
	} {
		got := clipped(rows("b", c.body), rows("f", c.foot), c.height)
		if c.height > 0 {
			require.Len(t, got, min(c.height, c.body+c.foot), c)
		}
		require.Equal(t, c.last, got[len(got)-1], c)
		require.Equal(t, c.more != "", slices.Contains(got, c.more), "%v: %v", c, got)
		at := slices.IndexFunc(got, func(row string) bool { return !strings.HasPrefix(row, "b") })
		if c.first != "" {
			require.Equal(t, c.first, got[at-1], c)
		}
	}
}

// TestWholeTables: on a screen that is too narrow, a table that omits nothing has a line for each cell, and no line is too wide.
func TestWholeTables(t *testing.T) {
	measure := func(p50, p95 float64) forecast.Measure {
		return forecast.Measure{P50: forecast.Quantile{Value: p50, Low: p50 - 9, High: p50 + 9}, P95: forecast.Quantile{Value: p95, Low: p95 - 99, High: p95 + 99}}
	}
	summary := &forecast.Summary{Runs: 1, Duration: measure(880, 1020), Exposed: measure(902, 1000)}
	drawn := func(width int) string {
		var out bytes.Buffer
		printed := newPrinter(&out, screen{width: width})
		printed.table(measureTable(summary))
		printed.table(changeTable([]change{{Change: "a mandatory canary group of 1 of 12 clusters in placement production", Result: *summary, Without: *summary}}))
		require.NoError(t, printed.err)
		return out.String()
	}
	require.Regexp(t, `(?m)^clusters that ran the new revision +at most 902 \(893 to 911\) +at most 1000 \(901 to 1099\)$`, drawn(200))
	narrow := drawn(60)
	require.Contains(t, narrow, "clusters that ran the new revision\n  HALF OF THE RUNS   at most 902 (893 to 911)\n  95% OF THE RUNS   at most 1000 (901 to 1099)\n")
	require.Contains(t, narrow, "\n  RAN THE NEW REVISION   902 (same)\n")
	for line := range strings.Lines(narrow) {
		require.LessOrEqual(t, plain.Width(strings.TrimSuffix(line, "\n")), 60, line)
	}
}
