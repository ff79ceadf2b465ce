package webhook

import (
	"crypto/tls"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestConnectionsWait: a connection beyond the limit waits until another one ends.
func TestConnectionsWait(t *testing.T) {
	options := NewOptions()
	options.Port, options.CertDir = 0, t.TempDir()
	writeCertificate(t, options.CertDir)
	server, err := (&Server{Options: options}).listen(t.Context(), http.NotFoundHandler(), nil)
	require.NoError(t, err)
	defer server.Listener.Close()
	var first net.Conn
	accepted := make(chan net.Conn)
	accept := func() {
		conn, err := server.Listener.Accept()
		if err == nil {
			accepted <- conn
		}
	}
	for range maxConnections {
		client, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		defer client.Close()
		go accept()
		first = <-accepted
		defer first.Close()
	}
	client, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	go accept()
	select {
	case <-accepted:
		require.Fail(t, "the connection does not wait")
	case <-time.After(200 * time.Millisecond):
	}
	require.NoError(t, first.Close())
	conn := <-accepted
	defer conn.Close()
	require.IsType(t, &tls.Conn{}, conn)
}
