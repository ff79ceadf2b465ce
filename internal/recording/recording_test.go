package recording

import (
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// show runs a shell script in a terminal of 20 columns and 4 rows. The script waits for a line between its screens, so that no screen is
// missed on a busy machine.
func show(t *testing.T, script string) []Frame {
	t.Helper()
	frames, err := Run(t.Context(), exec.Command("sh", "-c", script), 20, 4, 5*time.Millisecond)
	require.NoError(t, err)
	return frames
}

func TestLastScreenIsKept(t *testing.T) {
	frames := show(t, `printf 'one\n\033[1;31mfailed\033[0m  c1 <&>\n'`)
	require.NotEmpty(t, frames)
	require.Equal(t, []Line{
		{{Column: 0, Text: "one", Style: Style{Foreground: -1}}},
		{
			{Column: 0, Text: "failed  ", Style: Style{Foreground: 1, Bold: true}},
			{Column: 8, Text: "c1 <&>", Style: Style{Foreground: -1}},
		},
	}, trim(frames[len(frames)-1].Lines))
}

// trim drops the spaces that the emulator shows behind the last text of a row.
func trim(lines []Line) []Line {
	for _, line := range lines {
		if last := len(line) - 1; last >= 0 {
			line[last].Text = strings.TrimRight(line[last].Text, " ")
		}
	}
	return lines
}

func TestRedrawReplacesTheScreen(t *testing.T) {
	frames := show(t, `printf 'rolling out'; printf '\033[H\033[2Kcomplete'`)
	require.Equal(t, "complete", strings.TrimSpace(frames[len(frames)-1].Lines[0][0].Text))
}

func TestHide(t *testing.T) {
	frames := show(t, `printf '/home/me/bin/x\n'`)
	Hide(frames, "/home/me/")
	require.Equal(t, "bin/x", strings.TrimSpace(frames[len(frames)-1].Lines[0][0].Text))
}

func TestFailedCommandIsAnError(t *testing.T) {
	_, err := Run(t.Context(), exec.Command("sh", "-c", "exit 3"), 20, 4, time.Millisecond)
	require.ErrorContains(t, err, "exit status 3")
	_, err = Run(t.Context(), exec.Command("/no/such/command"), 20, 4, time.Millisecond)
	require.ErrorContains(t, err, "start /no/such/command in a terminal")
}

func TestSVG(t *testing.T) {
	plain := Style{Foreground: -1}
	head := Line{{Text: "web <1>", Style: plain}}
	frames := []Frame{
		{At: 0, Lines: []Line{head, {{Text: "RollingOut", Style: Style{Foreground: 3}}}}},
		{At: time.Minute, Lines: []Line{head, {{Column: 2, Text: "Aborted", Style: Style{Foreground: 1, Bold: true}}}}},
	}
	var b strings.Builder
	require.NoError(t, SVG(&b, frames, Options{Title: "An abort", Columns: 20, Rows: 4, LongestWait: 2 * time.Second, LastWait: 6 * time.Second}))
	svg := b.String()

	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err, svg)
		}
	}
	require.Contains(t, svg, "animation: play 8.00s", "a wait of a minute takes 2 s, and the last screen 6 s")
	require.Contains(t, svg, "25.000% { transform: translateY(-104px) }")
	require.Contains(t, svg, "prefers-reduced-motion")
	require.Equal(t, 1, strings.Count(svg, "web &lt;1&gt;"), "a line that stays is drawn once")
	require.Contains(t, svg, `<tspan x="16.8" class="c1 b">Aborted</tspan>`)
	require.NotContains(t, svg, "http://www.w3.org/1999/xlink")

	require.ErrorContains(t, SVG(&b, nil, Options{}), "showed no screen")
}
