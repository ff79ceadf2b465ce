package integration

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// line is a TCP connection to an API server that a test can cut or make silent.
type line struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	moved  *sync.Cond
	cutOff bool
	mute   bool
	ends   map[net.Conn]bool
}

func newLine(t *testing.T, target string) *line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &line{listener: listener, target: target, ends: map[net.Conn]bool{}}
	l.moved = sync.NewCond(&l.mu)
	go l.serve()
	t.Cleanup(func() {
		_ = listener.Close()
		l.cut()
	})
	return l
}

// through returns the world as a client sees it over the line.
func (l *line) through(w *world) *world {
	far := *w
	far.config = rest.CopyConfig(w.config)
	far.config.Host = "https://" + l.listener.Addr().String()
	return &far
}

// cut ends all connections, and refuses new ones until mend.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cutOff, l.mute = true, false
	for end := range l.ends {
		_ = end.Close()
	}
	l.moved.Broadcast()
}

// silence keeps the connections open and lets nothing through until mend, so that clients get no error.
func (l *line) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute = true
}

// mend lets the waiting data and new connections through.
func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cutOff, l.mute = false, false
	l.moved.Broadcast()
}

func (l *line) serve() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := l.connect(near)
		if err != nil {
			_ = near.Close()
			continue
		}
		go l.carry(near, far)
		go l.carry(far, near)
	}
}

func (l *line) connect(near net.Conn) (net.Conn, error) {
	far, err := net.Dial("tcp", l.target)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cutOff {
		return nil, errors.Join(errors.New("the line is cut"), far.Close())
	}
	l.ends[near], l.ends[far] = true, true
	return far, nil
}

// carry copies until one side ends.
func (l *line) carry(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		for l.mute {
			l.moved.Wait()
		}
		l.mu.Unlock()
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				err = io.ErrClosedPipe
			}
		}
		if err != nil {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, end := range []net.Conn{from, to} {
		_ = end.Close()
		delete(l.ends, end)
	}
}
