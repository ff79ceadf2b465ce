package screen

import (
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Printer shows views as they change.
type Printer interface {
	// Show shows the view of a step that goes on.
	Show(View)
	// Finish shows the last view of a step.
	Finish(View)
}

// NewPrinter returns a printer that redraws in place where out is a terminal, and prints changes elsewhere.
func NewPrinter(out io.Writer) Printer {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return NewPlain(out, time.Now)
	}
	p := colours
	if os.Getenv("NO_COLOR") != "" {
		p = noColours
	}
	return &terminal{out: out, palette: p, size: func() (int, int) {
		width, height, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return 80, 24
		}
		return width, height
	}}
}

// Plain prints a headline per step, then each line that changed, then the whole screen once the step is over.
type Plain struct {
	out   io.Writer
	now   func() time.Time
	step  int
	begin time.Time
	seen  map[string]string
}

// NewPlain returns a printer without colours. The clock is for the time that each line has.
func NewPlain(out io.Writer, now func() time.Time) *Plain {
	return &Plain{out: out, now: now, seen: map[string]string{}}
}

// Show prints what changed since the last view of the same step.
func (p *Plain) Show(view View) {
	if p.step != view.Step {
		p.step, p.begin = view.Step, p.now()
		// Every step has checks of its own; all else goes on from where the last step ended.
		maps.DeleteFunc(p.seen, func(key, _ string) bool { return strings.HasPrefix(key, checkKey) })
		fmt.Fprintf(p.out, "\n%s", text(head(view, noColours)))
	}
	for _, line := range body(view, noColours) {
		// What is still to be checked is no news, and column heads never are.
		quiet := strings.HasPrefix(line.text, "  [ ]") || line.key == "clusters" || line.key == "conditions"
		// A column that gets wider is no news either.
		content := strings.Join(strings.Fields(line.text), " ")
		if !quiet && p.seen[line.key] != content {
			fmt.Fprintf(p.out, "%s%s\n", clock(p.now().Sub(p.begin)), line.text)
		}
		p.seen[line.key] = content
	}
}

// Finish prints the changes and then the whole screen.
func (p *Plain) Finish(view View) {
	p.Show(view)
	fmt.Fprintf(p.out, "   -- step %d is done after %v:\n%s", view.Step, p.now().Sub(p.begin).Round(time.Second), text(body(view, noColours)))
}

func clock(elapsed time.Duration) string {
	seconds := int(elapsed.Seconds())
	return fmt.Sprintf("%2d:%02d", seconds/60, seconds%60)
}

func text(lines []line) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line.text + "\n")
	}
	return b.String()
}

// terminal redraws a step in place and leaves its last screen in the scrollback.
type terminal struct {
	out     io.Writer
	palette palette
	size    func() (width, height int)
	drawn   int
	last    string
}

func (t *terminal) Show(view View) {
	width, height := t.size()
	// A screen that is higher than the terminal can't be redrawn: what has scrolled away stays.
	lines := t.lines(view, width)
	t.draw(lines[:min(len(lines), max(1, height-2))])
}

// Finish shows the whole last screen, however high, since it is never redrawn.
func (t *terminal) Finish(view View) {
	width, _ := t.size()
	t.draw(t.lines(view, width))
	fmt.Fprintln(t.out)
	t.drawn, t.last = 0, ""
}

func (t *terminal) lines(view View, width int) []line {
	var lines []line
	for _, line := range append(head(view, t.palette), body(view, t.palette)...) {
		lines = append(lines, fit(line, width-1)...)
	}
	return lines
}

func (t *terminal) draw(lines []line) {
	screen := text(lines)
	if screen == t.last {
		return
	}
	if t.drawn > 0 {
		fmt.Fprintf(t.out, "\033[%dA\033[J", t.drawn)
	}
	fmt.Fprint(t.out, screen)
	t.drawn, t.last = len(lines), screen
}
