package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

const (
	// drawAfter is the minimum time between two states of a board.
	drawAfter = 500 * time.Millisecond
	// idleAfter is the time for which the watches of a rollout are kept after no tab shows the rollout any more.
	idleAfter = 20 * time.Second
)

// state is the newest state of a board: the JSON for the page, its version, and the objects that the JSON shows.
type state struct {
	data    []byte
	version string
	objects *view.Objects
	err     error
}

var seed = maphash.MakeSeed()

// board keeps the newest state of the followed objects, for all tabs.
type board struct {
	look func() state

	mu    sync.Mutex
	state state
	next  time.Time
}

// boardOf returns a board that shows what draw returns for the followed value. Equal JSON has the same version.
func boardOf[T any](follow Followed[T], draw func(T) (shown any, objects *view.Objects)) *board {
	return &board{look: func() state {
		value, err := follow()
		if err != nil {
			return state{err: err}
		}
		shown, objects := draw(value)
		data, err := encoded(shown)
		return state{data: data, version: strconv.FormatUint(maphash.Bytes(seed, data), 36), objects: objects, err: err}
	}}
}

// now returns the newest state. A large fleet is drawn less often: drawing takes at most a tenth of the time.
func (b *board) now() state {
	b.mu.Lock()
	defer b.mu.Unlock()
	if begin := time.Now(); !begin.Before(b.next) {
		b.state = b.look()
		b.next = time.Now().Add(max(drawAfter, 10*time.Since(begin)))
	}
	return b.state
}

// first returns the newest state. It waits at most readTimeout while the objects are being read.
func (b *board) first(ctx context.Context) (now state) {
	_ = wait.PollUntilContextTimeout(ctx, drawAfter, readTimeout, true, func(context.Context) (bool, error) {
		now = b.now()
		return !errors.Is(now.err, ErrNotReady), nil
	})
	return now
}

// room follows one rollout for all tabs that show it.
type room struct {
	*board
	// idle ends the room when no tab has requested it for idleAfter.
	idle *time.Timer
}

// rooms are the rollouts that tabs show.
type rooms struct {
	hub  Hub
	root context.Context //nolint:containedctx // The watches outlive a request.

	mu   sync.Mutex
	open map[string]*room
}

// roomOf returns the room of a rollout. The room closes when no tab has requested it for idleAfter.
func (r *rooms) roomOf(namespace, name string) *room {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := namespace + "/" + name
	found := r.open[key]
	if found == nil || !found.idle.Stop() { // A timer that has fired ends its room as soon as it gets the lock.
		ctx, end := context.WithCancel(r.root)
		found = &room{board: boardOf(r.hub.Follow(ctx, namespace, name), func(o *view.Objects) (any, *view.Objects) { return pictureOf(o), o })}
		found.idle = time.AfterFunc(idleAfter, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			end()
			if r.open[key] == found {
				delete(r.open, key)
			}
		})
		r.open[key] = found
	}
	found.idle.Reset(idleAfter)
	return found
}

// asked returns the room of the rollout that the path of a request names.
func (r *rooms) asked(request *http.Request) *room {
	return r.roomOf(request.PathValue("namespace"), request.PathValue("name"))
}

// news is the response to a page that requests the newest state of a board.
type news struct {
	// Scope describes what the list shows.
	Scope    string `json:"scope"`
	ReadOnly bool   `json:"readOnly"`
	// Now is the time of the server in milliseconds.
	Now int64 `json:"now"`
	// Since is the time since which the API server has been unreachable; zero if it is reachable. Contact is the error.
	Since   time.Time `json:"since,omitzero"`
	Contact string    `json:"contact,omitempty"`
	// Version identifies the state; empty if there is no state. Data is the state; empty if the page already has it.
	Version string          `json:"version,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	// Error is the reason why there is no state: the user lacks permission, or the object was deleted.
	Error   string `json:"error,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
}

// tell responds with the newest state of a board.
func (s *Server) tell(w http.ResponseWriter, r *http.Request, b *board) {
	now := b.now()
	out := news{Scope: s.hub.Scope(), ReadOnly: s.readOnly, Now: s.now().UnixMilli(), Version: now.version}
	out.Since, out.Contact = s.hub.Contact()
	switch {
	case now.err == nil && r.URL.Query().Get("seen") != now.version:
		out.Data = now.data
	case now.err != nil && !errors.Is(now.err, ErrNotReady):
		out.Error, out.Deleted = now.err.Error(), errors.Is(now.err, ErrDeleted)
	}
	send(w, http.StatusOK, out)
}
