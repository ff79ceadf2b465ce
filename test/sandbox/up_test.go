package sandbox

import (
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNothingIsLeftOfUp ends `bin/sandbox up` while it starts. Other tests end a sandbox that is up.
func TestNothingIsLeftOfUp(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	s := startSandbox(t, r, "--clusters=1")
	s.waitFor("^The hub's API server is up.")
	s.end(syscall.SIGINT, 130)
}

// end ends a sandbox with a signal to its whole process group, as a terminal does, or as a machine that is out of memory does. The group
// includes the work hub, the webhook server and the processes of managed clusters. Nothing must be left. code is the exit code of the
// sandbox; -1 if the signal ends it.
func (s *runningSandbox) end(sig syscall.Signal, code int) {
	s.t.Helper()
	t, dir := s.t, s.reader.dir
	children := childrenOf(t, s.cmd.Process.Pid, dir)
	require.NotEmpty(t, children)
	require.NoError(t, syscall.Kill(-s.cmd.Process.Pid, sig))
	var exit *exec.ExitError
	if err := s.cmd.Wait(); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.Equal(t, code, s.cmd.ProcessState.ExitCode())
	require.Eventually(t, func() bool { return len(leftFiles(t, dir)) == 0 }, 30*time.Second, 50*time.Millisecond, "files are left")
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(children, alive) && len(childrenOf(t, s.cmd.Process.Pid, dir)) == 0
	}, 30*time.Second, 100*time.Millisecond, "processes are left: of %v, and %v", children, childrenOf(t, s.cmd.Process.Pid, dir))
}

// childrenOf returns the descendants of a process, and the processes that use the files in a directory, because a process that loses its
// parent gets another parent.
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
