package integration

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// terminal is a tmux server with one session, whose shell runs the plugin as a user would.
type terminal struct {
	t      *testing.T
	socket string
	width  int
}

var buildPlugin = sync.OnceValues(func() (string, error) {
	binary := env.Group.Path("bin", "kubectl-mwrs")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/kubectl-mwrs").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the plugin: %w\n%s", err, out)
	}
	return binary, nil
})

// newTerminal starts a terminal of a width. Without tmux, the test is skipped, except in CI.
func newTerminal(t *testing.T, width int) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("tmux is not installed: apt-get install tmux")
	}
	term := &terminal{t: t, socket: fmt.Sprintf("%s/tmux", t.TempDir()), width: width}
	term.tmux("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", "40", "env", "-u", "NO_COLOR", "PS1=$ ", "sh")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", term.socket, "kill-server").Run() }) //nolint:gosec // The test's own socket.
	return term
}

func (term *terminal) tmux(args ...string) string {
	term.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", term.socket}, args...)...).CombinedOutput() //nolint:gosec // The test's own arguments.
	require.NoError(term.t, err, "tmux %v: %s", args, out)
	return string(out)
}

// types types a command and Enter.
func (term *terminal) types(command string) { term.tmux("send-keys", command, "Enter") }

// shows waits until the terminal shows all texts, and returns its screen.
func (term *terminal) shows(texts ...string) string {
	term.t.Helper()
	screen := ""
	eventually(term.t, fmt.Sprintf("the terminal shows %q", texts), func() error {
		screen = term.tmux("capture-pane", "-p")
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return fmt.Errorf("it shows\n%s", screen)
			}
		}
		return nil
	})
	return screen
}

// is returns a variable of tmux about the terminal, such as cursor_flag.
func (term *terminal) is(variable string) string {
	term.t.Helper()
	return strings.TrimSpace(term.tmux("display-message", "-p", "#{"+variable+"}"))
}

// In a real terminal, `get -w` redraws in place without remains, wraps no table, and leaves the terminal as it was.
func TestWatchInATerminal(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 200} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			f := rolledOut(t, 4, progressive(1, "20s", 0))
			nextSecond(t)
			f.agentsReport("c2", "v2", degrades)
			f.because("the image of the second release, with a change-cause that a narrow terminal has no room for")
			f.watchedIn(newTerminal(t, width))
		})
	}
}

func (f *fleet) watchedIn(term *terminal) {
	f.t.Helper()
	binary, err := buildPlugin()
	require.NoError(f.t, err)
	kubeconfig, err := f.w.plane.Kubeconfig(f.t.TempDir() + "/kubeconfig")
	require.NoError(f.t, err)
	term.types("clear; export KUBECONFIG=" + kubeconfig)
	term.types(binary + " get web -w -n " + f.namespace)
	term.shows(f.namespace+"/web   Complete", "and 4 Succeeded")
	require.Equal(f.t, "1", term.is("alternate_on"))
	require.Equal(f.t, "0", term.is("cursor_flag"), "the cursor is hidden")

	f.update("v2")
	screen := term.shows("RollingOut", "Degraded", "c2")
	require.NotContains(f.t, screen, "and 4 Succeeded", "nothing of the screen before remains")
	f.stalled()
	f.agentsReport("c2", "v2", succeeds)
	f.ok("retry", "web")
	screen = term.shows("Complete for", "4 of 4 clusters confirmed revision 2", "and 4 Succeeded", "2 update, current")
	f.fits(screen, term.width)
	for _, gone := range []string{"RollingOut", "Stalled", "Degraded", "ends "} {
		require.NotContains(f.t, screen, gone, "nothing of the screens before remains")
	}

	term.tmux("send-keys", "C-c")
	screen = term.shows("and 4 Succeeded", "kubectl mwrs undo web")
	term.types("echo exit code $?")
	term.shows("exit code 0")
	require.Equal(f.t, "0", term.is("alternate_on"))
	require.Equal(f.t, "1", term.is("cursor_flag"), "the cursor is back")
	f.t.Log("\n" + screen)
}

// fits demands that each row of the screen is one line, and that the table has no second line.
func (f *fleet) fits(screen string, width int) {
	f.t.Helper()
	header, rows := -1, strings.Split(screen, "\n")
	for i, row := range rows {
		require.LessOrEqual(f.t, len([]rune(row)), width)
		if strings.HasPrefix(row, "REVISION") {
			header = i
		}
	}
	require.Positive(f.t, header, screen)
	require.Regexp(f.t, "^2 update, current +", rows[header+1])
	require.Regexp(f.t, "^1  +", rows[header+2])
	require.Regexp(f.t, "^p1 ", rows[header+3])
}
