package dashboard

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
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

// A process without the token sends a long code: the server reads 1 KiB of it.
func TestCodeIsShort(t *testing.T) {
	s := serve(t, Options{})
	conn := s.dial()
	s.post(conn, openPath, maxBody, `{"once":"`+strings.Repeat("x", maxCode))
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err, "it is answered before the rest arrives")
	defer answer.Body.Close()
	require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	require.True(t, answer.Close)
	require.Equal(t, http.StatusBadRequest, s.request(http.MethodPost, openPath, `{"once":"x"}  {}`, header(tokenHeader, "")).StatusCode)
}

// A request that does not arrive in time ends its connection, whether it is allowed or not.
func TestSlowRequestsEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	conns := map[string]net.Conn{}
	for name, path := range map[string]string{"a code": openPath, "an action without the token": actPath, "a file": "/main.js"} {
		conns[name] = s.dial()
		s.post(conns[name], path, 100, `{"once":`)
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

// A stream outlasts the time that a request has to arrive.
func TestStreamOutlastsTheReadTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	body := s.request(http.MethodGet, "/api/list", "").Body
	time.AfterFunc(readTimeout+2*time.Second, func() { s.hub.setRows(view.Row{Name: "later"}) })
	events := bufio.NewScanner(body)
	for events.Scan() {
		if strings.Contains(events.Text(), `"later"`) {
			return
		}
	}
	require.Fail(t, "the stream ended")
}

// Connections are bounded: the next one waits for the end of another.
func TestConnectionsAreBounded(t *testing.T) {
	s := serve(t, Options{})
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

// Streams are bounded, so that a page that opens many keeps no connection from another request. A stream that ends makes room.
func TestStreamsAreBounded(t *testing.T) {
	s := serve(t, Options{})
	var first *http.Response
	for range maxStreams {
		answer := s.request(http.MethodGet, "/api/list", "")
		require.Equal(t, http.StatusOK, answer.StatusCode)
		if first == nil {
			first = answer
		}
	}
	require.Equal(t, http.StatusServiceUnavailable, s.request(http.MethodGet, "/api/sets/default/web/stream", "").StatusCode)
	require.Equal(t, http.StatusOK, s.request(http.MethodGet, "/", "").StatusCode)
	require.NoError(t, first.Body.Close())
	require.Eventually(t, func() bool {
		return s.request(http.MethodGet, "/api/sets/default/web/stream", "").StatusCode == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
}

// A stream sends a beat, so that the page notices when nothing arrives any more.
func TestStreamBeats(t *testing.T) {
	s := serve(t, Options{})
	lines := bufio.NewScanner(s.request(http.MethodGet, "/api/list", "").Body)
	for lines.Scan() {
		if lines.Text() == ": beat" {
			return
		}
	}
	require.Fail(t, "the stream ended")
}

// The server holds the user's rights. It ends when nobody has used the page for long, and not while a tab shows the page.
func TestIdleServerEnds(t *testing.T) {
	var hours atomic.Int64
	begin := time.Now()
	server, err := Listen(t.Context(), &fakeHub{}, 0, Options{Now: func() time.Time { return begin.Add(time.Duration(hours.Load()) * time.Hour) }})
	require.NoError(t, err)
	server.look = time.Millisecond
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(t.Context()) }()
	s := &served{t, &fakeHub{}, server}
	stream := s.request(http.MethodGet, "/api/list", "")
	hours.Add(9)
	lines := bufio.NewScanner(stream.Body)
	for beats := 0; beats < 2; {
		require.True(t, lines.Scan(), "it runs while a tab shows the page")
		if lines.Text() == ": beat" {
			beats++
		}
	}
	require.NoError(t, stream.Body.Close())
	require.Equal(t, http.StatusOK, s.request(http.MethodGet, "/", "", header("Connection", "close")).StatusCode)
	require.Eventually(t, func() bool { return len(server.streams) == 0 }, time.Minute, time.Millisecond)
	hours.Add(9)
	require.ErrorIs(t, <-ended, ErrIdle)
}
