package webhook

import (
	"net"
	"sync"
)

const (
	// sourceConnections and maxConnections limit the open connections, per address and in total. An API server needs one: it uses HTTP/2.
	sourceConnections, maxConnections = 256, 1024
	// sourceRequests and maxRequests limit the requests that are being read or reviewed, or wait for that. An API server runs up to 200 writes
	// at once by default.
	sourceRequests, maxRequests = 512, 2048
	// sourceBytes and maxBytes limit the bytes of requests that are held at once.
	sourceBytes, maxBytes = 64 << 20, 192 << 20
)

// crowd limits how much of something each address, and all addresses together, may have.
type crowd struct {
	perSource, most int

	mu   sync.Mutex
	of   map[string]int
	held int
}

func newCrowd(perSource, most int) *crowd {
	return &crowd{perSource: perSource, most: most, of: map[string]int{}}
}

// enter takes n more for an address, and reports whether the bounds allow it. The caller has to return them with leave.
func (c *crowd) enter(source string, n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held+n > c.most || c.of[source]+n > c.perSource {
		return false
	}
	c.held += n
	c.of[source] += n
	return true
}

// leave returns n.
func (c *crowd) leave(source string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held -= n
	if c.of[source] -= n; c.of[source] <= 0 {
		delete(c.of, source)
	}
}

// sourceOf returns the address of a client without its port.
func sourceOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// boundedListener closes connections beyond the bounds.
type boundedListener struct {
	net.Listener
	connections *crowd
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		source := sourceOf(conn.RemoteAddr().String())
		if l.connections.enter(source, 1) {
			return &boundedConn{Conn: conn, leave: sync.OnceFunc(func() { l.connections.leave(source, 1) })}, nil
		}
		_ = conn.Close()
	}
}

type boundedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
