package screen

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"time"
)

// Printer prints a headline per step, then each line that changed, then the whole screen once the step is over. It prints plain lines, so
// that a terminal, a pipe and a log show the same.
type Printer struct {
	out   io.Writer
	now   func() time.Time
	step  int
	begin time.Time
	seen  map[string]string
}

// New returns a printer. The clock is for the time that each line has.
func New(out io.Writer, now func() time.Time) *Printer {
	return &Printer{out: out, now: now, seen: map[string]string{}}
}

// Show prints what changed since the last view of the same step.
func (p *Printer) Show(view View) {
	if p.step != view.Step {
		p.step, p.begin = view.Step, p.now()
		// Every step has checks of its own; all else goes on from where the last step ended.
		maps.DeleteFunc(p.seen, func(key, _ string) bool { return strings.HasPrefix(key, checkKey) })
		fmt.Fprintf(p.out, "\n%s", text(head(view)))
	}
	for _, line := range body(view) {
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
func (p *Printer) Finish(view View) {
	p.Show(view)
	fmt.Fprintf(p.out, "   -- step %d is done after %v:\n%s", view.Step, p.now().Sub(p.begin).Round(time.Second), text(body(view)))
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
