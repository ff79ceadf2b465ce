package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
)

// HubNamespace is the namespace in which OCM runs its hub controllers.
const HubNamespace = "open-cluster-management-hub"

// WorkHub is this project's work hub, in a separate process.
type WorkHub struct {
	group   *process.Group
	args    []string
	crashed chan error

	// turn is locked while Deploy, Restart or Swap starts or replaces the child.
	turn sync.Mutex

	mu      sync.Mutex
	binary  string
	command process.Command
	child   *process.Process
	// wanted is true if the child should run: if the child then ends, it has crashed. listens is true if it has begun to listen.
	wanted, listens bool
}

// NewWorkHub returns a work hub that has all permissions on a hub and is not running yet. Flags in args override those of the sandbox.
func NewWorkHub(group *process.Group, binary string, hub *controlplane.APIServer, args ...string) (*WorkHub, error) {
	w, err := newWorkHub(group, binary, args)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := hub.Kubeconfig("")
	if err != nil {
		return nil, err
	}
	w.command = process.Command{Name: "work-hub", Path: w.binary, Args: []string{
		"manager",
		"--kubeconfig=" + kubeconfig,
		"--namespace=" + HubNamespace,
		"--feature-gates=ManifestWorkReplicaSet=true",
		"--disable-leader-election",
	}}
	return w, nil
}

// ShortLease returns flags with which a hub that is started after a crash leads within seconds. With the operator's Deployment and OCM's
// defaults, the hub would wait for more than two minutes.
func ShortLease() []string {
	return []string{
		"--disable-leader-election=false",
		"--leader-election-lease-duration=10s", "--leader-election-renew-deadline=8s", "--leader-election-retry-period=1s",
	}
}

// NewDeployedWorkHub returns a work hub that is not running yet. Deploy determines how it runs, and with which permissions. Flags in args
// override those of the Deployment.
func NewDeployedWorkHub(group *process.Group, binary string, args ...string) (*WorkHub, error) {
	return newWorkHub(group, binary, args)
}

func newWorkHub(group *process.Group, binary string, args []string) (*WorkHub, error) {
	absolute, err := findBinary(binary)
	if err != nil {
		return nil, err
	}
	return &WorkHub{group: group, binary: absolute, args: args, crashed: make(chan error, 1)}, nil
}

// findBinary returns the absolute path of this project's binary: child processes run in another directory.
func findBinary(binary string) (string, error) {
	absolute, err := filepath.Abs(binary)
	if err != nil {
		return "", fmt.Errorf("looking for the work hub: %w", err)
	}
	if _, err := os.Stat(absolute); err != nil {
		return "", fmt.Errorf("looking for the work hub (build it with \"make build\"): %w", err)
	}
	return absolute, nil
}

// Deploy runs the hub as the container of a Deployment, instead of the current process, and returns once it listens.
func (w *WorkHub) Deploy(ctx context.Context, hub *controlplane.APIServer, deployment *appsv1.Deployment) error {
	w.turn.Lock()
	defer w.turn.Unlock()
	command, err := PodCommand(ctx, w.group, hub, deployment, w.Binary())
	if err != nil {
		return err
	}
	// library-go reads its namespace from a fixed path of the machine, which exists only in a Pod.
	command.Args = append(command.Args, "--namespace="+deployment.Namespace)
	if err := w.Stop(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	w.command = command
	w.mu.Unlock()
	return w.Start(ctx)
}

// Start runs the hub and returns once it listens.
func (w *WorkHub) Start(ctx context.Context) error {
	port, err := process.FreePort()
	if err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	w.mu.Lock()
	command := w.command
	command.Args = w.commandLine(address)
	child, err := w.group.Start(command)
	w.child, w.wanted, w.listens = child, err == nil, false
	w.mu.Unlock()
	if err != nil {
		return err
	}
	listens := func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	}
	if err := child.WaitReady(ctx, time.Minute, listens); err != nil {
		return errors.Join(err, child.Kill())
	}
	w.mu.Lock()
	w.listens = true
	w.mu.Unlock()
	go w.watch(child)
	return nil
}

// Listens reports whether the child has begun to listen since it was last started.
func (w *WorkHub) Listens() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.listens
}

func (w *WorkHub) commandLine(address string) []string {
	flags := append(slices.Clone(w.command.Args), "--listen="+address)
	flags = slices.DeleteFunc(flags, func(flag string) bool {
		name, _, _ := strings.Cut(flag, "=")
		return slices.ContainsFunc(w.args, func(arg string) bool { return arg == name || strings.HasPrefix(arg, name+"=") })
	})
	return append(flags, w.args...)
}

// watch reports a child that crashes.
func (w *WorkHub) watch(child *process.Process) {
	<-child.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.child == child && w.wanted {
		_, err := child.Exited()
		select {
		case w.crashed <- err:
		default: // The first crash is enough.
		}
	}
}

// Crashed returns a channel that reports when the hub ends unexpectedly.
func (w *WorkHub) Crashed() <-chan error { return w.crashed }

// Binary returns the binary of the hub.
func (w *WorkHub) Binary() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.binary
}

// Process returns the current or last child process; nil before the first Start.
func (w *WorkHub) Process() *process.Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.child
}

// Stop stops the hub as a rollout of its Deployment would. It has no effect on a hub that is not running.
func (w *WorkHub) Stop(ctx context.Context) error {
	if child := w.unwanted(); child != nil {
		return child.Stop(ctx)
	}
	return nil
}

// Kill ends the hub as a crash would.
func (w *WorkHub) Kill() error {
	if child := w.unwanted(); child != nil {
		return child.Kill()
	}
	return nil
}

func (w *WorkHub) unwanted() *process.Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = false
	return w.child
}
