package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// The events of a stream:
//
//	hello    once: the scope of the list and whether the page is read-only
//	hub      when the API server can't be reached, and when it can be reached again
//	list     the rows of the list
//	update   a picture or a difference
//	problem  why there is no picture: no permission, or the object was deleted
type stream struct {
	w     http.ResponseWriter
	flush func() error
	err   error
	away  *contact
}

// contact is the state of the connection to the API server.
type contact struct {
	Since   int64  `json:"since,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// beat is how often a stream looks at the connection to the API server, and sends a comment that keeps the connection alive.
const beat = time.Second

func (s *Server) begin(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	out := &stream{w: w, flush: http.NewResponseController(w).Flush}
	out.send("hello", map[string]any{"scope": s.hub.Scope(), "readOnly": s.readOnly, "now": s.now().UnixMilli()})
	return out
}

func (st *stream) send(event string, value any) {
	if st.err != nil {
		return
	}
	data, err := json.Marshal(value)
	if err == nil {
		_, err = fmt.Fprintf(st.w, "event: %s\ndata: %s\n\n", event, data)
	}
	if st.err = err; err == nil {
		st.err = st.flush()
	}
}

// contact sends the state of the connection to the API server if it has changed.
func (st *stream) contact(hub Hub) {
	since, problem := hub.Contact()
	if now := (contact{unix(since), problem}); st.away == nil || now != *st.away {
		st.away = &now
		st.send("hub", now)
	}
}

// follow sends the states of a board until the tab is closed.
func follow[T any](s *Server, w http.ResponseWriter, r *http.Request, b *board[T], show func(*stream, T)) {
	out := s.begin(w)
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for out.err == nil {
		out.contact(s.hub)
		now, changed := b.now()
		switch {
		case now.err == nil:
			show(out, now.value)
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
			}
		}
	}
}

func (s *Server) streamList(w http.ResponseWriter, r *http.Request) {
	follow(s, w, r, s.lists, func(out *stream, rows []Row) {
		if rows == nil {
			rows = []Row{}
		}
		out.send("list", rows)
	})
}

func (s *Server) streamSet(w http.ResponseWriter, r *http.Request) {
	room, leave := s.rooms.enter(r.PathValue("namespace"), r.PathValue("name"))
	defer leave()
	var before *Picture
	follow(s, w, r, room.board, func(out *stream, now scene) {
		if update := updateOf(before, now.picture, s.now().UnixMilli()); update != nil {
			out.send("update", update)
		}
		before = now.picture
	})
}
