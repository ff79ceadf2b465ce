package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// grace is the time that a child may take to end after a termination signal.
const grace = 10 * time.Second

// Command is a command to run.
type Command struct {
	// Name is the name of the process in errors and of its log file.
	Name string
	// Path is the binary.
	Path string
	Args []string
	// Env is added to this process's environment.
	Env []string
	// Abrupt kills the process at once instead of asking it to end. Use it for processes without data that is worth saving, such as an etcd
	// whose data is removed anyway.
	Abrupt bool
}

// Process is a running child.
type Process struct {
	command Command
	cmd     *exec.Cmd
	logPath string
	done    chan struct{}
	err     error
}

// Start runs a command as a child of this group. Its output goes to logs/<name>.log in the group's directory.
func (g *Group) Start(command Command) (*Process, error) {
	p := &Process{command: command, logPath: g.Path("logs", command.Name+".log"), done: make(chan struct{})}
	if err := os.MkdirAll(filepath.Dir(p.logPath), 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory of the logs: %w", err)
	}
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", command.Name, err)
	}
	defer log.Close()

	p.cmd = exec.Command(command.Path, command.Args...)
	p.cmd.Dir = g.Dir
	// Killed children can't remove their temporary files, so these files belong in the directory too.
	p.cmd.Env = append(append(os.Environ(), "TMPDIR="+g.Dir), command.Env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = childAttr()
	if err := start(p.cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Name, err)
	}
	g.report("add", p.cmd.Process.Pid)
	g.mu.Lock()
	g.children = append(g.children, p)
	g.mu.Unlock()
	go func() {
		p.err = p.cmd.Wait()
		g.report("del", p.cmd.Process.Pid)
		g.forget(p)
		close(p.done)
	}()
	return p, nil
}

func (g *Group) forget(gone *Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, child := range g.children {
		if child == gone {
			g.children = append(g.children[:i:i], g.children[i+1:]...)
			return
		}
	}
}

// PID returns the process ID of the child.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has exited, for any reason.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exited reports whether the child has exited. If it has, the error shows the end of its log.
func (p *Process) Exited() (bool, error) {
	select {
	case <-p.done:
		return true, fmt.Errorf("%s ended: %w; the end of its log:\n%s", p.command.Name, orExit0(p.err), p.LogTail(20))
	default:
		return false, nil
	}
}

func orExit0(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// Stop asks the child to end, and kills it if it takes too long or ctx ends. It returns once the child is gone.
func (p *Process) Stop(ctx context.Context) error {
	if p.command.Abrupt {
		return p.Kill()
	}
	if err := ignoreDone(p.cmd.Process.Signal(syscall.SIGTERM)); err != nil {
		return fmt.Errorf("stopping %s: %w", p.command.Name, err)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	case <-timer.C:
	}
	return p.Kill()
}

// Kill ends the child as a crash would, and returns once it is gone.
func (p *Process) Kill() error {
	if err := ignoreDone(p.cmd.Process.Kill()); err != nil {
		return fmt.Errorf("killing %s: %w", p.command.Name, err)
	}
	<-p.done
	return nil
}

// LogPath is the file that holds the child's output.
func (p *Process) LogPath() string { return p.logPath }

// LogTail returns the last lines of the child's output.
func (p *Process) LogTail(lines int) string {
	data, err := os.ReadFile(p.logPath)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return strings.Join(all, "\n")
}
