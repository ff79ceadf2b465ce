package dashboard

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

const (
	// drawAfter is the least time between two pictures.
	drawAfter = 500 * time.Millisecond
	// refreshAfter is the time after which a picture is computed again without a change: successes settle and deadlines pass.
	refreshAfter = 2 * time.Second
	// idleAfter is how long the watches of a rollout that no tab shows are kept.
	idleAfter = 20 * time.Second
)

// state is the newest state of a board: the JSON for the page, and the objects that it shows.
type state struct {
	data    []byte
	objects *view.Objects
	err     error
}

// listed returns the state of the list.
func listed(rows []view.Row, err error) state {
	if err != nil {
		return state{err: err}
	}
	data, err := encoded(append([]view.Row{}, rows...))
	return state{data: data, err: err}
}

// drawn returns the state of a rollout.
func drawn(objects *view.Objects, err error) state {
	if err != nil {
		return state{err: err}
	}
	data, err := encoded(pictureOf(objects))
	return state{data, objects, err}
}

// board keeps the newest state of the followed objects, for all tabs.
type board struct {
	mu      sync.Mutex
	state   state
	changed chan struct{} // Closed at the next change.
}

// newBoard returns a board that is updated until the context ends.
func newBoard[T any](ctx context.Context, follow func(context.Context) Followed[T], show func(T, error) state) *board {
	b := &board{changed: make(chan struct{}), state: state{err: ErrNotReady}}
	followed := follow(ctx)
	go b.run(ctx, followed.Changed(), func() state { return show(followed.Now()) })
	return b
}

// run computes a state after each change. A large fleet is computed less often, so that this takes at most a quarter of the time.
func (b *board) run(ctx context.Context, changed <-chan struct{}, look func() state) {
	for ctx.Err() == nil {
		begin := time.Now()
		b.set(look())
		took := time.Since(begin)
		if !pause(ctx, nil, max(drawAfter, 3*took)) {
			return
		}
		pause(ctx, changed, max(refreshAfter, 20*took))
	}
}

// pause waits for a value, or until a time has passed. It returns false if the context has ended.
func pause(ctx context.Context, until <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-until:
	case <-timer.C:
	}
	return true
}

// set sets the newest state. It wakes the tabs only if the visible state has changed.
func (b *board) set(s state) {
	b.mu.Lock()
	defer b.mu.Unlock()
	unchanged := bytes.Equal(s.data, b.state.data) && errors.Is(b.state.err, s.err)
	b.state = s
	if unchanged {
		return
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// now returns the newest state, and a channel that is closed when there is a newer one.
func (b *board) now() (state, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state, b.changed
}

// room follows one rollout for all tabs that show it.
type room struct {
	*board
	// users is the number of tabs that show it, or showed it within idleAfter.
	users int
	end   context.CancelFunc
}

// rooms are the rollouts that tabs show.
type rooms struct {
	hub  Hub
	root context.Context //nolint:containedctx // The watches outlive a request.

	mu   sync.Mutex
	open map[string]*room
}

// enter returns the room of a rollout, and the function that leaves it. The room ends when no tab has shown it for idleAfter.
func (r *rooms) enter(namespace, name string) (found *room, leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := namespace + "/" + name
	if found = r.open[key]; found == nil {
		ctx, end := context.WithCancel(r.root)
		follow := func(ctx context.Context) Followed[*view.Objects] { return r.hub.Follow(ctx, namespace, name) }
		found = &room{board: newBoard(ctx, follow, drawn), end: end}
		r.open[key] = found
	}
	found.users++
	return found, func() {
		time.AfterFunc(idleAfter, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if found.users--; found.users == 0 {
				found.end()
				delete(r.open, key)
			}
		})
	}
}

// readyWithin bounds how long a request waits for the objects of a rollout that no tab shows.
const readyWithin = 20 * time.Second

// objects returns the objects of a rollout.
func (r *rooms) objects(ctx context.Context, namespace, name string) (*view.Objects, error) {
	room, leave := r.enter(namespace, name)
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		s, changed := room.now()
		if !errors.Is(s.err, ErrNotReady) {
			return s.objects, s.err
		}
		select {
		case <-ctx.Done():
			return nil, ErrNotReady
		case <-changed:
		}
	}
}
