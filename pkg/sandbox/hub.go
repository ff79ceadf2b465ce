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
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/process"
)

// HubNamespace is where OCM runs its hub controllers.
const HubNamespace = "open-cluster-management-hub"

// WorkHub is this project's work hub, a process of its own.
type WorkHub struct {
	group      *process.Group
	binary     string
	kubeconfig string
	args       []string
	child      *process.Process
}

// NewWorkHub returns a work hub that doesn't run yet. Flags in args win over the sandbox's.
func NewWorkHub(group *process.Group, binary string, hub *controlplane.APIServer, args ...string) (*WorkHub, error) {
	// The child runs in another directory.
	absolute, err := filepath.Abs(binary)
	if err != nil {
		return nil, fmt.Errorf("looking for the work hub: %w", err)
	}
	if _, err := os.Stat(absolute); err != nil {
		return nil, fmt.Errorf("looking for the work hub (build it with \"make build\"): %w", err)
	}
	kubeconfig, err := hub.Kubeconfig("")
	if err != nil {
		return nil, err
	}
	return &WorkHub{group: group, binary: absolute, kubeconfig: kubeconfig, args: args}, nil
}

// Start runs the hub and returns when it listens.
func (w *WorkHub) Start(ctx context.Context) error {
	port, err := process.FreePort()
	if err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	child, err := w.group.Start(process.Command{Name: "work-hub", Path: w.binary, Args: w.commandLine(address)})
	if err != nil {
		return err
	}
	w.child = child
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
	return nil
}

func (w *WorkHub) commandLine(address string) []string {
	flags := []string{
		"--kubeconfig=" + w.kubeconfig,
		"--namespace=" + HubNamespace,
		"--feature-gates=ManifestWorkReplicaSet=true",
		"--disable-leader-election",
		"--listen=" + address,
	}
	flags = slices.DeleteFunc(flags, func(flag string) bool {
		name, _, _ := strings.Cut(flag, "=")
		return slices.ContainsFunc(w.args, func(arg string) bool { return arg == name || strings.HasPrefix(arg, name+"=") })
	})
	return slices.Concat([]string{"manager"}, flags, w.args)
}

// Process is the child process that runs now, nil before the first Start.
func (w *WorkHub) Process() *process.Process { return w.child }

// Stop ends the hub as a rollout of its Deployment would.
func (w *WorkHub) Stop(ctx context.Context) error { return w.child.Stop(ctx) }

// Kill ends the hub as a crash would.
func (w *WorkHub) Kill() error { return w.child.Kill() }
