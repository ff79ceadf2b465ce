package controlplane

import (
	"context"
	"fmt"
	"time"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
)

// startAttempts is the number of times a process is started on a new port: another process can take a free port before
// ours does.
const startAttempts = 5

// Etcd is a running etcd. Any number of API servers can share it, each with its own prefix.
type Etcd struct {
	*process.Process

	// URL is the URL for clients.
	URL string
}

// StartEtcd starts an etcd that is fast rather than durable. Its data is deleted with the group.
func StartEtcd(ctx context.Context, group *process.Group, binary string) (*Etcd, error) {
	var last error
	for range startAttempts {
		etcd, err := startEtcdOnce(ctx, group, binary)
		if err == nil {
			return etcd, nil
		}
		last = err
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("starting etcd: %w", last)
}

func startEtcdOnce(ctx context.Context, group *process.Group, binary string) (*Etcd, error) {
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	child, err := group.Start(process.Command{
		Name: "etcd",
		Path: binary,
		Args: []string{
			"--name=sandbox",
			"--data-dir=" + group.Path("etcd"),
			"--listen-client-urls=" + url,
			"--advertise-client-urls=" + url,
			// The only member has no peers, so any port works.
			"--listen-peer-urls=http://127.0.0.1:0",
			"--unsafe-no-fsync",
			// The default quota of 2 GB is exhausted after a few updates of thousands of works within minutes.
			"--quota-backend-bytes=8589934592",
			"--log-level=warn",
		},
		Abrupt: true,
	})
	if err != nil {
		return nil, err
	}
	if err := child.WaitReady(ctx, 30*time.Second, func(ctx context.Context) error { return process.HTTPOK(ctx, url+"/health") }); err != nil {
		_ = child.Kill()
		return nil, err
	}
	return &Etcd{Process: child, URL: url}, nil
}
