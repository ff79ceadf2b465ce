package dashboard

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dial connects to the server as any process on this machine can.
func (s *served) dial() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.listener.Addr().String())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// post sends the header of a request with a body of a size, and the beginning of the body.
func (s *served) post(conn net.Conn, path string, size int, body string) {
	s.t.Helper()
	host := s.listener.Addr().String()
	_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, host, host, size, body)
	require.NoError(s.t, err)
}

// A request that does not arrive in time ends its connection, whether it is allowed or not.
func TestSlowRequestsEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	conns := map[string]net.Conn{}
	for name, path := range map[string]string{"an action without the token": actPath, "a file": "/main.js"} {
		conns[name] = s.dial()
		s.post(conns[name], path, 100, `{"verb":`)
	}
	conns["a header"] = s.dial()
	_, err := io.WriteString(conns["a header"], "GET / HTTP/1.1\r\n")
	require.NoError(t, err)
	begin := time.Now()
	for name, conn := range conns {
		require.NoError(t, conn.SetReadDeadline(begin.Add(6*readTimeout)))
		_, err := io.Copy(io.Discard, conn)
		require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "%s is still open", name)
	}
}

// The number of connections is bounded: the next connection waits until another one ends.
func TestConnectionsAreBounded(t *testing.T) {
	s := serve(t, false)
	for range maxConnections {
		s.dial()
	}
	waits := s.dial()
	_, err := fmt.Fprintf(waits, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", s.listener.Addr())
	require.NoError(t, err)
	require.NoError(t, waits.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
	_, err = waits.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, waits.SetReadDeadline(time.Now().Add(6*readTimeout)))
	answer, err := io.ReadAll(waits)
	require.NoError(t, err)
	require.Contains(t, string(answer), "200 OK", "the silent connections ended")
}

// The server has the user's permissions, so it ends when the page was unused for a long time. Each request with the token restarts that
// time.
func TestIdleServerEnds(t *testing.T) {
	server, err := Listen(t.Context(), &fakeHub{}, 0, false, time.Now)
	require.NoError(t, err)
	s := &served{t, &fakeHub{}, server}
	ended := make(chan error, 1)
	server.idle.Reset(time.Hour)
	go func() { ended <- server.Serve(t.Context()) }()
	require.Equal(t, http.StatusUnauthorized, s.request(http.MethodGet, "/api/list", "", header(tokenHeader, "x")).StatusCode)
	require.Equal(t, http.StatusOK, s.request(http.MethodGet, "/api/list", "").StatusCode)
	server.idle.Reset(time.Millisecond)
	require.ErrorIs(t, <-ended, ErrIdle)
}
