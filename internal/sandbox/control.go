package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
)

// controlSocket is the socket in a sandbox's directory through which other processes of its user send requests.
const controlSocket = "control.sock"

// Control lets other processes of the same user swap or kill the work hub, and take clusters offline, until it is closed.
func (s *Sandbox) Control() (io.Closer, error) {
	listener, err := net.Listen("unix", s.Env.Group.Path(controlSocket))
	if err != nil {
		return nil, fmt.Errorf("listening for \"sandbox swap\": %w", err)
	}
	mux := http.NewServeMux()
	handle := func(path string, do func(ctx context.Context, r *http.Request) error) {
		mux.HandleFunc("POST /"+path, func(w http.ResponseWriter, r *http.Request) {
			// A request that has begun is finished, even if the client has gone.
			if err := do(context.WithoutCancel(r.Context()), r); err != nil {
				http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			}
		})
	}
	handle("swap", func(ctx context.Context, r *http.Request) error { return s.Swap(ctx, r.FormValue("binary")) })
	handle("kill", func(ctx context.Context, _ *http.Request) error { return s.Crash(ctx) })
	handle("online", func(ctx context.Context, r *http.Request) error {
		return s.SetOnline(ctx, r.FormValue("cluster"), true)
	})
	handle("offline", func(ctx context.Context, r *http.Request) error {
		return s.SetOnline(ctx, r.FormValue("cluster"), false)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	return server, nil
}

// FindRunning returns the directory of the only sandbox that is running on this machine.
func FindRunning() (string, error) {
	sockets, err := filepath.Glob(filepath.Join(os.TempDir(), controlplane.DirPrefix+"-*", controlSocket))
	if err != nil {
		return "", fmt.Errorf("looking for a sandbox: %w", err)
	}
	switch len(sockets) {
	case 0:
		return "", fmt.Errorf("no sandbox runs with its directory in %s: start one with \"sandbox up\"", os.TempDir())
	case 1:
		return filepath.Dir(sockets[0]), nil
	}
	dirs := make([]string, 0, len(sockets))
	for _, socket := range sockets {
		dirs = append(dirs, filepath.Dir(socket))
	}
	return "", fmt.Errorf("more than one sandbox runs, name one of their directories with --sandbox: %s", strings.Join(dirs, ", "))
}

// RequestSwap asks the sandbox in a directory to run another build, and returns once that build is running.
func RequestSwap(ctx context.Context, dir, binary string) error {
	absolute, err := findBinary(binary)
	if err != nil {
		return err
	}
	words, err := request(ctx, dir, "swap?"+url.Values{"binary": {absolute}}.Encode())
	if words != "" {
		return fmt.Errorf("the sandbox keeps what it runs: %s", words)
	}
	return err
}

// RequestKill makes the sandbox in a directory kill its work hub, and returns once the hub is running again.
func RequestKill(ctx context.Context, dir string) error {
	return requestOrRefused(ctx, dir, "kill")
}

// RequestOnline makes the sandbox in a directory connect a managed cluster to the hub, or disconnect it.
func RequestOnline(ctx context.Context, dir, cluster string, online bool) error {
	path := "offline"
	if online {
		path = "online"
	}
	return requestOrRefused(ctx, dir, path+"?"+url.Values{"cluster": {cluster}}.Encode())
}

// requestOrRefused sends a request to the sandbox in a directory. A refusal is an error.
func requestOrRefused(ctx context.Context, dir, path string) error {
	words, err := request(ctx, dir, path)
	if words != "" {
		return errors.New(words)
	}
	return err
}

// request sends a request to the sandbox in a directory. It returns the sandbox's reason for a refusal, or an empty string if the sandbox
// accepts.
func request(ctx context.Context, dir, path string) (refusal string, err error) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, controlSocket))
	}}
	defer transport.CloseIdleConnections()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://sandbox/"+path, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := (&http.Client{Transport: transport}).Do(post)
	if err != nil {
		return "", fmt.Errorf("asking the sandbox in %s: %w", dir, err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return "", nil
	}
	words, err := io.ReadAll(response.Body)
	return strings.TrimSpace(string(words)), err
}
