package process

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

//go:embed watchdog.sh
var watchdogScript string

// Group is a set of child processes and the directory that holds their files.
type Group struct {
	// Dir holds all files that the children write. Stop or the watchdog removes it.
	Dir string

	watchdog *exec.Cmd
	pipe     io.WriteCloser

	mu       sync.Mutex
	children []*Process
	keep     bool
}

// NewGroup creates the directory, in the system's directory for temporary files, and starts the watchdog. The name of the directory starts
// with prefix.
func NewGroup(prefix string) (*Group, error) {
	dir, err := os.MkdirTemp("", prefix+"-")
	if err != nil {
		return nil, fmt.Errorf("creating a temporary directory (set TMPDIR to a directory that can be written): %w", err)
	}
	// Kubeconfigs and logs contain this path: resolve links once.
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	group := &Group{Dir: dir}
	if err := group.startWatchdog(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return group, nil
}

func (g *Group) startWatchdog() error {
	g.watchdog = exec.Command("sh", "-c", watchdogScript, "watchdog", g.Dir)
	g.watchdog.Dir = os.TempDir()
	// The watchdog must outlive this process, so it gets no parent-death signal.
	g.watchdog.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := g.watchdog.StdinPipe()
	if err != nil {
		return fmt.Errorf("creating the watchdog's pipe: %w", err)
	}
	if err := g.watchdog.Start(); err != nil {
		return fmt.Errorf("starting the watchdog (it needs a POSIX sh in PATH): %w", err)
	}
	g.pipe = pipe
	return nil
}

// KeepDir makes Stop leave the directory. A crash still removes it.
func (g *Group) KeepDir() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keep = true
}

// Path joins elements to the group's directory.
func (g *Group) Path(elements ...string) string {
	return filepath.Join(append([]string{g.Dir}, elements...)...)
}

// Stop ends the children, the last started first, and removes the directory.
func (g *Group) Stop(ctx context.Context) error {
	g.mu.Lock()
	children, keep := g.children, g.keep
	g.children = nil
	g.mu.Unlock()

	var errs []error
	for i := len(children) - 1; i >= 0; i-- {
		errs = append(errs, children[i].Stop(ctx))
	}
	if keep {
		// The watchdog removes the directory when its pipe closes, so it must be killed first.
		errs = append(errs, ignoreDone(g.watchdog.Process.Kill()))
	}
	errs = append(errs, g.pipe.Close())
	if err := g.watchdog.Wait(); err != nil && !keep {
		errs = append(errs, fmt.Errorf("waiting for the watchdog: %w", err))
	}
	if !keep {
		errs = append(errs, os.RemoveAll(g.Dir))
	}
	return errors.Join(errs...)
}

// report reports a child to the watchdog. A missing watchdog is not an error: it is needed only if this process also dies.
func (g *Group) report(what string, pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = fmt.Fprintf(g.pipe, "%s %d\n", what, pid)
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// WatchdogPID returns the process ID of the watchdog.
func (g *Group) WatchdogPID() int { return g.watchdog.Process.Pid }
