// Package terminaltest gives tests a real terminal: a session of tmux in which a shell runs programs as a user would.
package terminaltest

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is the time that a terminal may take to show something on a busy machine.
const patience = time.Minute

// Terminal is a tmux server with one session.
type Terminal struct {
	t      testing.TB
	socket string
	Width  int
}

// New starts a terminal of the given size. Without tmux, the test is skipped, except in CI.
func New(t testing.TB, width, height int) *Terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("tmux is not installed: apt-get install tmux")
	}
	dir, err := os.MkdirTemp("", "tmux") // The path of a socket is short.
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	term := &Terminal{t: t, socket: dir + "/socket", Width: width}
	term.tmux("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height),
		"env", "-u", "NO_COLOR", "PS1=$ ", "sh")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", term.socket, "kill-server").Run() }) //nolint:gosec // The test's own socket.
	return term
}

func (term *Terminal) tmux(args ...string) string {
	term.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", term.socket}, args...)...).CombinedOutput() //nolint:gosec // The test's own arguments.
	require.NoError(term.t, err, "tmux %v: %s", args, out)
	return string(out)
}

// Types types a command, and presses Enter.
func (term *Terminal) Types(command string) { term.Press(command, "Enter") }

// Press presses keys, such as C-c.
func (term *Terminal) Press(keys ...string) {
	term.t.Helper()
	term.tmux(append([]string{"send-keys"}, keys...)...)
}

// Resize changes the size of the terminal.
func (term *Terminal) Resize(width, height int) {
	term.t.Helper()
	term.Width = width
	term.tmux("resize-window", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
}

// Shows waits until the terminal shows all texts, and returns its screen.
func (term *Terminal) Shows(texts ...string) string {
	term.t.Helper()
	screen := ""
	shown := func(text string) bool { return strings.Contains(screen, text) }
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		screen = term.tmux("capture-pane", "-p")
		missing := slices.DeleteFunc(slices.Clone(texts), shown)
		if len(missing) == 0 {
			return screen
		}
		if time.Since(begin) > patience {
			require.Fail(term.t, fmt.Sprintf("it does not show %q, but\n%s", missing, screen))
		}
	}
}
