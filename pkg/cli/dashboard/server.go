package dashboard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/net/netutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// Server serves the page of one user.
type Server struct {
	hub      Hub
	readOnly bool
	now      func() time.Time
	// token is the token that each request from the page carries in a header.
	token    string
	listener net.Listener
	rooms    *rooms
	// idle stops the server. Each request with the token resets it.
	idle *time.Timer
}

// ErrIdle is the error of Serve if the page was unused for idleEnd.
var ErrIdle = errors.New("the page has not been used for 8 hours")

// idleEnd is the time for which the server runs without a request and without a tab that shows the page. The limit exists because the
// server has the user's permissions.
const idleEnd = 8 * time.Hour

// The maximum sizes of a request, in bytes. A body has room for the names of 10,000 clusters.
const (
	maxHeader = 64 << 10
	maxBody   = 4 << 20
)

// maxConnections bounds the connections. A browser opens at most six to a server.
const maxConnections = 64

// Listen returns a server that listens on a port of 127.0.0.1, and on no other address. Port 0 selects a free port. A read-only server
// rejects all actions.
func Listen(ctx context.Context, hub Hub, port int, readOnly bool, now func() time.Time) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("--port %d can't be used: %w; use another one, or 0 for any free port", port, err)
	}
	return &Server{
		hub: hub, readOnly: readOnly, now: now, token: rand.Text(), listener: netutil.LimitListener(listener, maxConnections),
		idle: time.NewTimer(idleEnd),
	}, nil
}

// use records that a request with the token arrived.
func (s *Server) use() { s.idle.Reset(idleEnd) }

// Address returns the address of the page with its token. The token is in the fragment, which a browser never sends.
func (s *Server) Address() string { return s.base() + "#token=" + s.token }

func (s *Server) base() string { return "http://" + s.listener.Addr().String() + "/" }

// The time limits of a connection: for a request, for the response, and between two requests. A report about a large fleet takes a long
// time.
const (
	readTimeout  = 10 * time.Second
	writeTimeout = 2 * time.Minute
	idleTimeout  = 2 * time.Minute
)

// Serve serves the page until the context ends, or until the page was unused for idleEnd.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler: s.Handler(ctx), ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() {
		select {
		case <-ctx.Done():
			ended <- nil
		case <-s.idle.C:
			ended <- ErrIdle
		}
		_ = server.Close()
	}()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// Handler returns the handler of all requests. Their watches end with the context.
func (s *Server) Handler(ctx context.Context) http.Handler {
	s.rooms = &rooms{hub: s.hub, root: ctx, open: map[string]*room{}}
	list := boardOf(s.hub.List(ctx), func(rows []view.Row) (any, *view.Objects) { return append([]view.Row{}, rows...), nil })
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/list", func(w http.ResponseWriter, r *http.Request) { s.tell(w, r, list) })
	const set = "/api/sets/{namespace}/{name}/"
	mux.HandleFunc("GET "+set+"picture", func(w http.ResponseWriter, r *http.Request) { s.tell(w, r, s.rooms.asked(r).board) })
	mux.HandleFunc("GET "+set+"why/{cluster}", s.shown(func(r *http.Request, o *view.Objects) (any, error) {
		return view.Why(o, r.PathValue("cluster"))
	}))
	mux.HandleFunc("GET "+set+"plan", s.shown(func(_ *http.Request, o *view.Objects) (any, error) { return view.AheadOf(o) }))
	mux.HandleFunc("GET "+set+"report", s.report)
	mux.HandleFunc("POST "+set+"preview", s.preview)
	mux.HandleFunc("POST "+set+"act", s.act)
	mux.Handle("GET /", assets())
	return (&guard{hosts: hostsOf(s.listener.Addr()), token: s.token, use: s.use}).guarded(mux)
}

// shown returns a handler that responds with the result of a function, which it calls with the objects of a rollout.
func (s *Server) shown(of func(*http.Request, *view.Objects) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now := s.rooms.asked(r).first(r.Context())
		if now.err != nil {
			fail(w, now.err)
			return
		}
		value, err := of(r, now.objects)
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

// action reads an action and the question that the user confirmed. It rejects all actions if the page is read-only.
func (s *Server) action(w http.ResponseWriter, r *http.Request) (action *Action, confirmed string, ok bool) {
	if s.readOnly {
		refuse(w, http.StatusForbidden, "the page is read-only: start the command without --read-only")
		return nil, "", false
	}
	in := struct {
		Action
		Confirmed string `json:"confirmed"`
	}{}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "the body of the request is not the expected JSON: "+err.Error())
		return nil, "", false
	}
	in.Namespace, in.Name = r.PathValue("namespace"), r.PathValue("name")
	return &in.Action, in.Confirmed, true
}

// reply responds with a value, or with an error from the hub.
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
	_, _ = w.Write(data) // The tab may be closed.
}

// encoded returns a value as JSON for the page. All data of the page passes through here, so that no text from other users can hide or
// reorder what the page shows.
func encoded(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	return plain.JSON(data), err
}

// fail responds with an error from the hub.
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
		status = http.StatusBadGateway // 401 is reserved for an invalid token of the page.
	}
	refuse(w, status, err.Error())
}

func refuse(w http.ResponseWriter, status int, problem string) {
	send(w, status, map[string]string{"error": problem})
}
