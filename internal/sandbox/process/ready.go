package process

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// WaitReady polls probe until it returns nil. It gives up when the child ends, or after the timeout. The returned error then has the last
// error of the probe, and the end of the child's log.
func (p *Process) WaitReady(ctx context.Context, timeout time.Duration, probe func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		if ended, err := p.Exited(); ended {
			return false, err
		}
		last = probe(ctx)
		return last == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case wait.Interrupted(err):
		return fmt.Errorf("%s is not ready after %v: %v; the end of its log:\n%s", p.command.Name, timeout, last, p.LogTail(20))
	default:
		return err
	}
}

// HTTPOK is a probe for WaitReady, like that of a kubelet: it requests url, and returns nil for the status 200.
func HTTPOK(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// FreePort returns a loopback port that is not in use. Another process can take it before the caller does, so if a child ends at once, the
// caller should retry with another port.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port on 127.0.0.1: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
