package recording

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// Options of a drawing.
type Options struct {
	// Title names the picture for screen readers.
	Title string
	// Columns and Rows are the size of the terminal.
	Columns, Rows int
	// LongestWait is the maximum duration of a screen, except the last one.
	LongestWait time.Duration
	// LastWait is the duration of the last screen, before the animation repeats.
	LastWait time.Duration
}

// The size of a character cell and of the margin, in SVG units.
const (
	cellWidth  = 8.4
	cellHeight = 18
	margin     = 16
	fontSize   = 14
)

// The colors of a dark terminal: ANSI colors 0 to 15. Each has a contrast of at least 4.5 to the background, except black.
var palette = [16]string{
	"#24292e", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#c9d1d9",
	"#8b949e", "#ffa198", "#aff5b4", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
}

const (
	background = "#0d1117"
	foreground = "#c9d1d9"
)

// SVG writes the frames as an animation that repeats. A viewer that asks for reduced motion sees the last frame. The file needs no script
// and loads nothing.
func SVG(w io.Writer, frames []Frame, o Options) error {
	if len(frames) == 0 {
		return fmt.Errorf("nothing to draw: the command showed no screen")
	}
	width := float64(o.Columns)*cellWidth + 2*margin
	height := o.Rows*cellHeight + 2*margin
	d := &drawing{ids: map[string]string{}}
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %.0f %d" width="%.0f" height="%d">`+"\n",
		width, height, width, height)
	fmt.Fprintf(d, "<title>%s</title>\n", escape(o.Title))
	style(d, frames, o, height)
	fmt.Fprintf(d, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", background)
	fmt.Fprintf(d, `<g class="frames">`+"\n")
	for i, frame := range frames {
		fmt.Fprintf(d, `<g transform="translate(%d %d)">`+"\n", margin, i*height+margin+fontSize)
		for y, line := range frame.Lines {
			d.line(y, line)
		}
		fmt.Fprintln(d, "</g>")
	}
	fmt.Fprintf(d, "</g>\n</svg>\n")
	_, err := io.WriteString(w, d.String())
	return err
}

// style writes the animation: the frames are stacked, and each step moves the stack to the next one.
func style(d *drawing, frames []Frame, o Options, height int) {
	waits, total := durations(frames, o)
	fmt.Fprintf(d, "<style>\n")
	fmt.Fprintf(d, "text { font: %dpx ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; "+
		"fill: %s; white-space: pre }\n", fontSize, foreground)
	fmt.Fprintf(d, ".b { font-weight: bold }\n")
	for i, color := range palette {
		fmt.Fprintf(d, ".c%d { fill: %s }\n", i, color)
	}
	fmt.Fprintf(d, ".frames { animation: play %.2fs step-end infinite }\n", total.Seconds())
	fmt.Fprintf(d, "@keyframes play {\n")
	at := time.Duration(0)
	for i, wait := range waits {
		fmt.Fprintf(d, "%.3f%% { transform: translateY(%dpx) }\n", 100*at.Seconds()/total.Seconds(), -i*height)
		at += wait
	}
	fmt.Fprintf(d, "}\n@media (prefers-reduced-motion: reduce) { .frames { animation: none; transform: translateY(%dpx) } }\n",
		-(len(frames)-1)*height)
	fmt.Fprintf(d, "</style>\n")
}

// durations returns the duration of each frame, and their sum.
func durations(frames []Frame, o Options) ([]time.Duration, time.Duration) {
	waits := make([]time.Duration, len(frames))
	var total time.Duration
	for i := range frames {
		waits[i] = o.LastWait
		if i+1 < len(frames) {
			waits[i] = min(frames[i+1].At-frames[i].At, o.LongestWait)
		}
		total += waits[i]
	}
	return waits, total
}

// drawing writes a line that was drawn before as a reference to it.
type drawing struct {
	strings.Builder
	ids map[string]string
}

func (d *drawing) line(y int, line Line) {
	if len(line) == 0 {
		return
	}
	var b strings.Builder
	for _, span := range line {
		fmt.Fprintf(&b, `<tspan x="%.1f"%s>%s</tspan>`, float64(span.Column)*cellWidth, span.Style.class(),
			escape(strings.TrimRight(span.Text, " ")))
	}
	text := b.String()
	if id, known := d.ids[text]; known {
		fmt.Fprintf(d, `<use href="#%s" y="%d"/>`+"\n", id, y*cellHeight)
		return
	}
	// The text has no position of its own, so that every reference can place it.
	id := fmt.Sprintf("l%d", len(d.ids))
	d.ids[text] = id
	fmt.Fprintf(d, `<defs><text id="%s">%s</text></defs><use href="#%s" y="%d"/>`+"\n", id, text, id, y*cellHeight)
}

func (s Style) class() string {
	var classes []string
	if s.Foreground >= 0 {
		classes = append(classes, fmt.Sprintf("c%d", s.Foreground))
	}
	if s.Bold {
		classes = append(classes, "b")
	}
	if len(classes) == 0 {
		return ""
	}
	return fmt.Sprintf(` class="%s"`, strings.Join(classes, " "))
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}
