package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// Options changes how the server works.
type Options struct {
	// ReadOnly refuses all actions.
	ReadOnly bool
	// Now is the clock; nil for the real one.
	Now func() time.Time
}

// Server serves the page of one user.
type Server struct {
	hub      Hub
	readOnly bool
	now      func() time.Time
	secrets  *secrets
	listener net.Listener
	rooms    *rooms
	// streams has an entry for each stream.
	streams chan struct{}
	// used is when a request with the token came last, or a stream ended, in nanoseconds. look is how often the server looks at it.
	used atomic.Int64
	look time.Duration
}

// ErrIdle is the error of Serve if nobody has used the page for idleEnd.
var ErrIdle = errors.New("nobody has used the page for 8 hours")

// idleEnd is how long the server runs without a request and without a tab that shows the page: it holds the user's rights.
const idleEnd = 8 * time.Hour

// openPath is the path at which the one-time code is exchanged for the token.
const openPath = "/api/open"

// The maximum sizes of a request, in bytes. A body has room for the names of 10,000 clusters. Without the token it has room for the
// one-time code: any process on this machine can send it.
const (
	maxHeader = 64 << 10
	maxBody   = 4 << 20
	maxCode   = 1 << 10
)

// maxConnections and maxStreams bound the connections and, among them, the streams. A tab has one stream, and a browser opens at most six
// connections to a server.
const (
	maxConnections = 64
	maxStreams     = 32
)

// Listen returns a server that listens on a port of 127.0.0.1, and on no other address. Port 0 selects a free one.
func Listen(ctx context.Context, hub Hub, port int, options Options) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("--port %d can't be used: %w; use another one, or 0 for any free port", port, err)
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	s := &Server{
		hub: hub, readOnly: options.ReadOnly, now: options.Now, secrets: newSecrets(options.Now),
		listener: netutil.LimitListener(listener, maxConnections), streams: make(chan struct{}, maxStreams),
		look: time.Minute,
	}
	s.use()
	return s, nil
}

// use notes that the page is used.
func (s *Server) use() { s.used.Store(s.now().UnixNano()) }

// idle waits until nobody has used the page for idleEnd. It returns false if the context ends before that.
func (s *Server) idle(ctx context.Context) bool {
	for len(s.streams) > 0 || s.now().Sub(time.Unix(0, s.used.Load())) < idleEnd {
		if !pause(ctx, nil, s.look) {
			return false
		}
	}
	return true
}

// Address returns the address of the page with its token. The token is in the fragment, which no browser sends anywhere.
func (s *Server) Address() string { return s.base() + "#token=" + s.secrets.token }

// Once returns an address that opens the page once, within OnceValid.
func (s *Server) Once() string { return s.base() + "#once=" + s.secrets.code }

// Opened returns a channel that is closed when that address has opened the page.
func (s *Server) Opened() <-chan struct{} { return s.secrets.exchanged }

func (s *Server) base() string { return "http://" + s.listener.Addr().String() + "/" }

// The time limits of a connection. An answer has none, because a stream lasts as long as its tab: readTimeout applies to a request, and
// writeTimeout to each event of a stream.
const (
	readTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = 2 * time.Minute
)

// Serve serves the page until the context ends, or nobody has used the page for idleEnd.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler: s.Handler(ctx), ReadHeaderTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() {
		var why error
		if s.idle(ctx) {
			why = ErrIdle
		}
		ended <- why
		_ = server.Close() // Streams have no end of their own.
	}()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// Handler returns the handler of all requests. Its watches end with the context.
func (s *Server) Handler(ctx context.Context) http.Handler {
	s.rooms = &rooms{hub: s.hub, root: ctx, open: map[string]*room{}}
	lists := newBoard(ctx, s.hub.List, listed)
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+openPath, s.open)
	mux.HandleFunc("GET /api/list", s.bounded(func(w http.ResponseWriter, r *http.Request) { s.follow(w, r, "list", lists) }))
	const set = "/api/sets/{namespace}/{name}/"
	mux.HandleFunc("GET "+set+"stream", s.bounded(s.streamSet))
	mux.HandleFunc("GET "+set+"why/{cluster}", s.shown(func(r *http.Request, o *view.Objects) (any, error) {
		return view.Why(o, r.PathValue("cluster"))
	}))
	mux.HandleFunc("GET "+set+"plan", s.shown(func(_ *http.Request, o *view.Objects) (any, error) { return view.AheadOf(o) }))
	mux.HandleFunc("GET "+set+"report", s.report)
	mux.HandleFunc("POST "+set+"preview", s.preview)
	mux.HandleFunc("POST "+set+"act", s.act)
	mux.Handle("GET /", assets())
	return (&guard{hosts: hostsOf(s.listener.Addr()), secrets: s.secrets, use: s.use}).guarded(mux)
}

func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Once string `json:"once"`
	}
	if !decode(w, r, maxCode, &in) {
		return
	}
	token, ok := s.secrets.exchange(in.Once)
	if !ok {
		refuse(w, http.StatusUnauthorized, "this link was used already, or is older than a minute: open the address that the command printed")
		return
	}
	send(w, http.StatusOK, map[string]string{"token": token})
}

// shown returns a handler that answers with the result of a function of the objects of a rollout.
func (s *Server) shown(of func(*http.Request, *view.Objects) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		objects, err := s.rooms.objects(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
		var value any
		if err == nil {
			value, err = of(r, objects)
		}
		reply(w, value, err)
	}
}

func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	page, err := s.hub.Report(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", "attachment")
	_, _ = w.Write(page)
}

func (s *Server) preview(w http.ResponseWriter, r *http.Request) {
	if action, _, ok := s.action(w, r); ok {
		s.shown(func(r *http.Request, o *view.Objects) (any, error) { return s.hub.Preview(r.Context(), action, o) })(w, r)
	}
}

func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	action, confirmed, ok := s.action(w, r)
	if !ok {
		return
	}
	if confirmed == "" {
		refuse(w, http.StatusBadRequest, "confirmed is empty: send the question of the preview that the user has confirmed")
		return
	}
	done, err := s.hub.Act(r.Context(), action, confirmed)
	reply(w, map[string]string{"done": done}, err)
}

// action reads an action and the question that the user confirmed. It refuses all actions if the page is read-only.
func (s *Server) action(w http.ResponseWriter, r *http.Request) (action *Action, confirmed string, ok bool) {
	if s.readOnly {
		refuse(w, http.StatusForbidden, "the page is read-only: start the command without --read-only")
		return nil, "", false
	}
	in := struct {
		Action
		Confirmed string `json:"confirmed"`
	}{}
	if !decode(w, r, maxBody, &in) {
		return nil, "", false
	}
	in.Namespace, in.Name = r.PathValue("namespace"), r.PathValue("name")
	return &in.Action, in.Confirmed, true
}

// decode reads the body of a request, which has nothing else than a JSON value of up to a number of bytes.
func decode(w http.ResponseWriter, r *http.Request, most int64, into any) bool {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		if _, after := decoder.Token(); !errors.Is(after, io.EOF) {
			err = errors.New("more follows after its end")
		}
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "the body of the request is not the expected JSON: "+err.Error())
		return false
	}
	hasArrived(w)
	return true
}

// reply answers with a value, or with an error of the hub.
func reply(w http.ResponseWriter, value any, err error) {
	if err != nil {
		fail(w, err)
		return
	}
	send(w, http.StatusOK, value)
}

func send(w http.ResponseWriter, status int, value any) {
	data, err := encoded(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // The tab may be gone.
}

// encoded returns a value as JSON for the page. All data of the page pass here: no text of others can hide or reorder what the page shows.
func encoded(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	return plain.JSON(data), err
}

// fail answers with an error of the hub.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusUnprocessableEntity
	var failure apierrors.APIStatus
	switch {
	case errors.Is(err, ErrChanged):
		status = http.StatusConflict
	case errors.Is(err, ErrNotReady):
		status = http.StatusServiceUnavailable
	case errors.Is(err, ErrDeleted):
		status = http.StatusNotFound
	case errors.As(err, &failure) && failure.Status().Code >= http.StatusBadRequest:
		status = int(failure.Status().Code)
	}
	if status == http.StatusUnauthorized {
		status = http.StatusBadGateway // 401 is the answer to a wrong token of the page.
	}
	refuse(w, status, err.Error())
}

func refuse(w http.ResponseWriter, status int, problem string) {
	send(w, status, map[string]string{"error": problem})
}
