package sandbox

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// runningSandbox is a sandbox whose lines can be waited for.
type runningSandbox struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
}

// waitFor returns what an expression finds in the next line that has it.
func (s *runningSandbox) waitFor(expression string) []string {
	s.t.Helper()
	wanted, limit := regexp.MustCompile(expression), time.After(3*time.Minute)
	var printed []string
	for {
		select {
		case line, more := <-s.lines:
			if !more {
				require.Fail(s.t, "the sandbox ended", "it never printed %s, but %q", expression, printed)
			}
			if found := wanted.FindStringSubmatch(line); found != nil {
				return found
			}
			printed = append(printed, line)
		case <-limit:
			require.Fail(s.t, "it takes too long", "it never printed %s, but %q", expression, printed)
		}
	}
}

func startSandbox(t *testing.T, binary, dir string, args ...string) *runningSandbox {
	t.Helper()
	s := &runningSandbox{t: t, cmd: exec.Command(binary, append([]string{"up", "--clusters=1"}, args...)...), lines: make(chan string, 1000)}
	s.cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	read, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	s.cmd.Stderr = os.Stderr
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	go func() {
		defer close(s.lines)
		scanner := bufio.NewScanner(read)
		for scanner.Scan() {
			s.lines <- scanner.Text()
		}
	}()
	return s
}

// A sandbox stays up when its work hub is killed, and runs another build of it when it is told to: a crash, an upgrade and the way back can
// be rehearsed. A build that does not start changes nothing.
func TestSandboxRehearsesACrashAndAnUpgrade(t *testing.T) {
	bin := built(t)
	other := filepath.Join(bin, "work-2")
	copyFile(t, filepath.Join(bin, "work"), other)
	dir, err := os.MkdirTemp("", "up") // The path of a socket is short.
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := startSandbox(t, filepath.Join(bin, "sandbox"), dir)
	killed := s.waitFor(`^  kill -9 ([0-9]+)$`)[1]

	require.NoError(t, exec.Command("kill", "-9", killed).Run())
	s.waitFor(`^The work hub ended, and is started again in 1s: `)
	first := s.waitFor(`^The work hub runs (\S+) as process ([0-9]+)\.$`)
	require.Equal(t, filepath.Join(bin, "work"), first[1])
	require.NotEqual(t, killed, first[2])
	require.True(t, alive(first[2]))

	swap := func(binary string) (string, error) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "sandbox"), "swap", binary)
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := swap(other)
	require.NoError(t, err, out)
	second := s.waitFor(`^The work hub runs (\S+) as process ([0-9]+)\.$`)
	require.Equal(t, other, second[1])
	require.False(t, alive(first[2]))

	out, err = swap("/bin/false")
	require.Error(t, err)
	require.Contains(t, out, "the sandbox keeps what it runs: running /bin/false: ")
	out, err = swap("/no/such/build")
	require.Error(t, err)
	require.Contains(t, out, "no such file")

	out, err = swap(filepath.Join(bin, "work"))
	require.NoError(t, err, out)
	require.Equal(t, filepath.Join(bin, "work"), s.waitFor(`^The work hub runs (\S+) as process ([0-9]+)\.$`)[1])

	require.NoError(t, syscall.Kill(-s.cmd.Process.Pid, syscall.SIGINT))
	require.NoError(t, s.cmd.Wait())
	require.Empty(t, leftFiles(t, dir))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	source, err := os.Open(from)
	require.NoError(t, err)
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	defer target.Close()
	_, err = io.Copy(target, source)
	require.NoError(t, err)
}
