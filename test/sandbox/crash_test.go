package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
)

// victimEnv turns this test binary into a sandbox that will be killed.
const victimEnv = "SANDBOX_TEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victimEnv) != "" {
		if err := victim(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if programs != "" {
		_ = os.RemoveAll(programs)
	}
	os.Exit(code)
}

// programs is the directory of built, once the build is done.
var programs string

// built builds the binaries of `make build`, once for all tests, and returns their directory.
func built(t *testing.T) string {
	t.Helper()
	require.NoError(t, build())
	return programs
}

var build = sync.OnceValue(func() (err error) {
	if programs, err = os.MkdirTemp("", "programs"); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-o", programs+"/", "../../cmd/work", "../../cmd/sandbox", "../../cmd/kubectl-mwrs")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
})

// victim starts control planes, prints its processes, and waits for Ctrl-C.
func victim() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	env, err := controlplane.NewEnv(ctx, os.Stderr)
	if err != nil {
		return err
	}
	hub, err := env.StartHub(ctx, controlplane.HubOptions{GarbageCollection: true})
	if err != nil {
		return err
	}
	fmt.Println("ready", env.Group.WatchdogPID(), env.Etcd.PID(), hub.Process().PID(), hub.ControllerManager.PID())
	<-ctx.Done()
	return env.Stop(context.Background())
}

// TestNothingIsLeft ends a sandbox in the ways in which a user or a machine ends it.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	tests := map[string]syscall.Signal{
		"Ctrl-C":  syscall.SIGINT,
		"kill -9": syscall.SIGKILL,
		"crash":   syscall.SIGSEGV,
	}
	for name, sig := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			sandbox := exec.Command(os.Args[0])
			sandbox.Env = append(os.Environ(), victimEnv+"=1", "TMPDIR="+dir)
			output, err := sandbox.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, sandbox.Start())
			t.Cleanup(func() { _ = sandbox.Process.Kill() })

			line, err := bufio.NewReader(output).ReadString('\n')
			require.NoError(t, err, "the sandbox did not start")
			pids := strings.Fields(strings.TrimPrefix(line, "ready"))
			require.Len(t, pids, 4)
			for _, pid := range pids {
				require.True(t, alive(pid), "process %s does not run", pid)
			}

			require.NoError(t, sandbox.Process.Signal(sig))
			_ = sandbox.Wait()
			require.Eventually(t, func() bool { return len(leftFiles(t, dir)) == 0 }, 30*time.Second, 50*time.Millisecond, "files are left")
			for _, pid := range pids {
				require.Eventually(t, func() bool { return !alive(pid) }, 10*time.Second, 50*time.Millisecond, "process %s is left", pid)
			}
		})
	}
}

// alive reports whether a process runs. It returns false for a zombie that its new parent has not collected.
func alive(pid string) bool {
	state, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

func leftFiles(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	return entries
}
