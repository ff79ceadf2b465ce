package story

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// rolloutName is the name of the story's ManifestWorkReplicaSet.
const rolloutName = "web"

// teller prints the story through the screen of `kubectl mwrs get`: each changed line of the screen, and the whole screen at the end of a
// step. It prints lines only, so that a terminal, a pipe and a log show the same output.
type teller struct {
	out    io.Writer
	now    func() time.Time
	screen *plugin.Screen
	// ageless draws the same lines without ages: a line in which only an age changes is not printed again.
	ageless *plugin.Screen
	begin   time.Time
	// last are the lines of the last screen, and told are the checks of the step that were printed.
	last, told []string
}

// outcome is a check of a step, and whether it holds.
type outcome struct {
	text string
	done bool
}

func newTeller(out io.Writer, hub *rest.Config) (*teller, error) {
	t := &teller{out: out, now: time.Now}
	var err error
	if t.screen, err = plugin.NewScreen(hub, sandbox.Namespace, rolloutName); err != nil {
		return nil, err
	}
	t.ageless, err = plugin.NewScreen(hub, sandbox.Namespace, rolloutName, plugin.WithAges(func(time.Duration) string { return "_" }))
	return t, err
}

// start prints the title of a step.
func (t *teller) start(number, of int, title, why string) {
	t.begin, t.told = t.now(), nil
	fmt.Fprintf(t.out, "\n[%d/%d] %s\n      %s\n", number, of, title, why)
}

// does prints a command that the story runs.
func (t *teller) does(command string) { fmt.Fprintf(t.out, "      $ %s\n", command) }

// read reads the objects to show.
func (t *teller) read(ctx context.Context) (*view.Fleet, error) { return t.screen.Read(ctx) }

// show prints the changes since its last call.
func (t *teller) show(f *view.Fleet, checks []outcome) error {
	f = brief(f)
	lines, err := linesOf(t.screen, f)
	if err != nil {
		return err
	}
	compared, err := linesOf(t.ageless, f)
	if err != nil {
		return err
	}
	for i := range compared {
		// A change in the width of a column is not printed.
		compared[i] = strings.Join(strings.Fields(compared[i]), " ")
		if !slices.Contains(t.last, compared[i]) {
			t.line(lines[i])
		}
	}
	t.last = compared
	for _, check := range checks {
		if check.done && !slices.Contains(t.told, check.text) {
			t.told = append(t.told, check.text)
			t.line("[x] " + check.text)
		}
	}
	return nil
}

// finish prints the changes, and then the whole screen.
func (t *teller) finish(number int, f *view.Fleet, checks []outcome) error {
	if err := t.show(f, checks); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "   -- step %d is proved after %v. kubectl mwrs get %s -n %s:\n", number, t.now().Sub(t.begin).Round(time.Second),
		rolloutName, sandbox.Namespace)
	return t.screen.Draw(t.out, f)
}

// line prints a line with the time since the step began.
func (t *teller) line(text string) {
	seconds := int(t.now().Sub(t.begin).Seconds())
	fmt.Fprintf(t.out, "%2d:%02d  %s\n", seconds/60, seconds%60, text)
}

// brief returns the view without the history or the commands to run next. The reader can't run them during the story, and the whole
// screen at the end of the step has both.
func brief(f *view.Fleet) *view.Fleet {
	short := *f
	short.Revisions, short.Next = nil, nil
	return &short
}

// linesOf returns the lines of a screen as they appear in a file, without line breaks.
func linesOf(screen *plugin.Screen, f *view.Fleet) ([]string, error) {
	var drawn bytes.Buffer
	if err := screen.Draw(&drawn, f); err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(drawn.String(), "\n"), "\n"), nil
}
