package sandbox

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNothingIsLeftOfUp ends `bin/sandbox up` as a person does, and as a machine does that has no memory left: with all that runs then, the
// work hub, the webhook's server and what runs on a managed cluster among it.
func TestNothingIsLeftOfUp(t *testing.T) {
	bin := built(t)
	for name, end := range map[string]struct {
		sig syscall.Signal
		// after is the beginning of the line that the sandbox prints last.
		after string
		// code is what it exits with; -1 if the signal ends it.
		code int
	}{
		"Ctrl-C while it starts": {syscall.SIGINT, "The hub's API server is up.", 130},
		"kill -9":                {syscall.SIGKILL, "The sandbox is up until Ctrl-C.", -1},
		"Ctrl-C":                 {syscall.SIGINT, "The sandbox is up until Ctrl-C.", 0},
	} {
		t.Run(name, func(t *testing.T) { // One after the other: each is a whole hub on this machine.
			// The links of a temporary directory are resolved, as the sandbox does with its own.
			dir, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			sandbox := startUp(t, filepath.Join(bin, "sandbox"), dir, end.after)
			children := childrenOf(t, sandbox.Process.Pid, dir)
			require.NotEmpty(t, children)

			// A terminal sends it to the whole group.
			require.NoError(t, syscall.Kill(-sandbox.Process.Pid, end.sig))
			var exit *exec.ExitError
			if err := sandbox.Wait(); !errors.As(err, &exit) {
				require.NoError(t, err)
			}
			require.Equal(t, end.code, sandbox.ProcessState.ExitCode())
			require.Eventually(t, func() bool { return len(leftFiles(t, dir)) == 0 }, 30*time.Second, 50*time.Millisecond, "files are left")
			require.Eventually(t, func() bool {
				return !slices.ContainsFunc(children, alive) && len(childrenOf(t, sandbox.Process.Pid, dir)) == 0
			}, 30*time.Second, 100*time.Millisecond, "processes are left: of %v, and %v", children, childrenOf(t, sandbox.Process.Pid, dir))
		})
	}
}

// startUp starts a sandbox that writes below a directory, in a process group of its own, and returns when it printed a line.
func startUp(t *testing.T, binary, dir, line string) *exec.Cmd {
	t.Helper()
	sandbox := exec.Command(binary, "up", "--clusters=1")
	sandbox.Env = append(os.Environ(), "TMPDIR="+dir)
	sandbox.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	read, write, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = read.Close() })
	sandbox.Stdout, sandbox.Stderr = write, os.Stderr
	require.NoError(t, sandbox.Start())
	t.Cleanup(func() { _ = sandbox.Process.Kill() })
	require.NoError(t, write.Close())

	lines := bufio.NewScanner(read)
	var printed []string
	for lines.Scan() {
		if printed = append(printed, lines.Text()); strings.HasPrefix(lines.Text(), line) {
			return sandbox
		}
	}
	require.Fail(t, "the sandbox ended before it was told to", "it printed %s", strings.Join(printed, "\n"))
	return nil
}

// childrenOf are the processes below a process, and those that work with the files of a directory, wherever they are now: who loses its
// parent is given another one.
func childrenOf(t *testing.T, root int, dir string) []string {
	t.Helper()
	list, err := exec.Command("ps", "-A", "-ww", "-o", "pid=,ppid=,stat=,args=").Output()
	require.NoError(t, err)
	below := map[string]bool{strconv.Itoa(root): true}
	var found []string
	for more := true; more; {
		more = false
		for line := range strings.Lines(string(list)) {
			fields := strings.Fields(line)
			if len(fields) < 4 || strings.HasPrefix(fields[2], "Z") || below[fields[0]] {
				continue
			}
			if below[fields[1]] || strings.Contains(line, dir) {
				below[fields[0]], more = true, true
				found = append(found, fields[0])
			}
		}
	}
	return found
}
