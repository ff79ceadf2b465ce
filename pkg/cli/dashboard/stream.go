package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// The events of a stream:
//
//	hello    once: the scope of the list and whether the page is read-only
//	hub      when the API server can't be reached, and when it can be reached again
//	list     the rows of the list
//	update   the picture of a rollout
//	problem  why there is no picture: no permission, or the object was deleted
type stream struct {
	w          http.ResponseWriter
	connection *http.ResponseController
	err        error
	away       *contact
}

// contact is the state of the connection to the API server.
type contact struct {
	Since   time.Time `json:"since,omitzero"`
	Problem string    `json:"problem,omitempty"`
}

// beat is how often a stream looks at the connection to the API server, and sends a comment that keeps the connection alive.
const beat = time.Second

// bounded returns a handler that refuses a stream beyond maxStreams.
func (s *Server) bounded(stream http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.streams <- struct{}{}:
			defer func() {
				s.use()
				<-s.streams
			}()
			stream(w, r)
		default:
			refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("the page is open in %d tabs: close some of them", maxStreams))
		}
	}
}

func (s *Server) begin(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	out := &stream{w: w, connection: http.NewResponseController(w)}
	out.send("hello", map[string]any{"scope": s.hub.Scope(), "readOnly": s.readOnly, "now": s.now().UnixMilli()})
	return out
}

func (st *stream) send(event string, value any) {
	data, err := encoded(value)
	st.err = cmp.Or(st.err, err)
	st.event(event, data)
}

func (st *stream) event(event string, data []byte) {
	st.write("event: " + event + "\ndata: " + string(data) + "\n\n")
}

// write writes a text to the tab. A tab that does not read it in time loses its stream.
func (st *stream) write(text string) {
	if st.err != nil {
		return
	}
	_ = st.connection.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, st.err = io.WriteString(st.w, text); st.err == nil {
		st.err = st.connection.Flush()
	}
}

// contact sends the state of the connection to the API server if it has changed.
func (st *stream) contact(hub Hub) {
	since, problem := hub.Contact()
	if now := (contact{since, problem}); st.away == nil || now != *st.away {
		st.away = &now
		st.send("hub", now)
	}
}

// follow sends the states of a board as events until the tab is closed.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, event string, b *board) {
	out := s.begin(w)
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for out.err == nil {
		out.contact(s.hub)
		now, changed := b.now()
		switch {
		case now.err == nil:
			out.event(event, now.data)
		case !errors.Is(now.err, ErrNotReady):
			out.send("problem", map[string]any{"error": now.err.Error(), "deleted": errors.Is(now.err, ErrDeleted)})
		}
		for waiting := true; waiting && out.err == nil; {
			select {
			case <-r.Context().Done():
				return
			case <-changed:
				waiting = false
			case <-ticker.C:
				out.contact(s.hub)
				out.write(": beat\n\n")
			}
		}
	}
}

func (s *Server) streamSet(w http.ResponseWriter, r *http.Request) {
	room, leave := s.rooms.enter(r.PathValue("namespace"), r.PathValue("name"))
	defer leave()
	s.follow(w, r, "update", room.board)
}
