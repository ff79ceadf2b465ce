package sandbox

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// runningSandbox is a running sandbox. Tests can wait for lines of its output.
type runningSandbox struct {
	t      *testing.T
	reader *reader
	cmd    *exec.Cmd
	lines  chan string
}

// waitFor returns the matches of an expression in the next line that it matches.
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
			require.Fail(s.t, "the wait took too long", "it never printed %s, but %q", expression, printed)
		}
	}
}

// startSandbox runs `bin/sandbox up` as a reader does, in its own process group.
func startSandbox(t *testing.T, r *reader, args ...string) *runningSandbox {
	t.Helper()
	s := &runningSandbox{
		t: t, reader: r, cmd: exec.Command(filepath.Join(r.bin, "sandbox"), append([]string{"up"}, args...)...), lines: make(chan string, 1000),
	}
	s.cmd.Env = append(os.Environ(), "TMPDIR="+r.dir)
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

// isReady waits until commands in another terminal find the sandbox.
func (s *runningSandbox) isReady() {
	s.t.Helper()
	await.Eventually(s.t, patience, "the sandbox prints its directory", func() error {
		_, err := s.reader.shell("true")
		return err
	})
}

// A sandbox stays up when its work hub is killed, and runs another build of the hub on request: a crash, an upgrade and a downgrade can be
// rehearsed. A build that does not start changes nothing.
func TestSandboxRehearsesACrashAndAnUpgrade(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	s := startSandbox(t, r, "--clusters=1")
	killed := s.waitFor(`^  kill -9 ([0-9]+)$`)[1]
	s.isReady()
	r.hasNothingToSettle()

	require.NoError(t, exec.Command("kill", "-9", killed).Run())
	s.waitFor(`^The work hub ended, and is started again in 1s: `)
	first := s.waitFor(`^The work hub runs (\S+) as process ([0-9]+)\.$`)
	require.Equal(t, filepath.Join(r.bin, "work"), first[1])
	require.NotEqual(t, killed, first[2])
	require.True(t, alive(first[2]))

	other := filepath.Join(t.TempDir(), "work-2")
	copyFile(t, filepath.Join(r.bin, "work"), other)
	r.must("bin/sandbox swap " + other)
	second := s.waitFor(`^The work hub runs (\S+) as process ([0-9]+)\.$`)
	require.Equal(t, other, second[1])
	require.False(t, alive(first[2]))

	output, err := r.shell("bin/sandbox swap $(type -P false)")
	require.Error(t, err)
	require.Regexp(t, "the sandbox keeps what it runs: running .*/false: ", output)
	output, err = r.shell("bin/sandbox swap /no/such/build")
	require.Error(t, err)
	require.Contains(t, output, "no such file")

	r.must("bin/sandbox swap bin/work")
	require.Equal(t, filepath.Join(r.bin, "work"), s.waitFor(`^The work hub runs (\S+) as process ([0-9]+)\.$`)[1])

	require.Equal(t, "cluster1 is offline.\ncluster1 is online.\n", r.must("bin/sandbox offline cluster1; bin/sandbox online cluster1"))
	r.must("kubectl mwrs status web")
	s.end(syscall.SIGKILL, -1)
}

// hasNothingToSettle: the doctor reports no problems, except that nothing scrapes the hub, and that the sandbox is not a release of OCM.
func (r *reader) hasNothingToSettle() {
	r.t.Helper()
	for line := range strings.Lines(r.must("kubectl mwrs doctor")) {
		require.Regexp(r.t, "^(ok |warn +(metrics|ocm-version) )", line)
	}
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
