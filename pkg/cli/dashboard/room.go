package dashboard

import (
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

// state is the newest state of a board.
type state[T any] struct {
	value T
	err   error
}

// board keeps the newest state of the followed objects, for all tabs.
type board[T any] struct {
	mu      sync.Mutex
	state   state[T]
	changed chan struct{} // Closed at the next change.
}

// newBoard returns a board that is updated until the context ends.
func newBoard[T any](ctx context.Context, follow func(context.Context) Followed[T], same func(a, b T) bool) *board[T] {
	b := &board[T]{changed: make(chan struct{}), state: state[T]{err: ErrNotReady}}
	go b.run(ctx, follow(ctx), same)
	return b
}

// run computes a state after each change. A large fleet is computed less often, so that this takes at most a quarter of the time.
func (b *board[T]) run(ctx context.Context, followed Followed[T], same func(a, b T) bool) {
	for ctx.Err() == nil {
		begin := time.Now()
		value, err := followed.Now()
		b.set(state[T]{value, err}, same)
		took := time.Since(begin)
		if !pause(ctx, nil, max(drawAfter, 3*took)) {
			return
		}
		pause(ctx, followed.Changed(), max(refreshAfter, 20*took))
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
func (b *board[T]) set(s state[T], same func(a, b T) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	unchanged := s.err == nil && b.state.err == nil && same(s.value, b.state.value) || s.err != nil && errors.Is(b.state.err, s.err)
	b.state = s
	if unchanged {
		return
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// now returns the newest state, and a channel that is closed when there is a newer one.
func (b *board[T]) now() (state[T], <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state, b.changed
}

// scene is the newest picture of a rollout and the objects that it shows.
type scene struct {
	picture *Picture
	objects *view.Objects
}

// room follows one rollout for all tabs that show it.
type room struct {
	*board[scene]
	users int
	left  time.Time
	end   context.CancelFunc
}

// rooms are the rollouts that tabs show.
type rooms struct {
	hub  Hub
	now  func() time.Time
	root context.Context //nolint:containedctx // The watches outlive a request.

	mu   sync.Mutex
	open map[string]*room
}

func newRooms(ctx context.Context, hub Hub, now func() time.Time) *rooms {
	return &rooms{hub: hub, now: now, root: ctx, open: map[string]*room{}}
}

// drawn turns objects into scenes.
type drawn struct{ Followed[*view.Objects] }

// Now returns the newest scene.
func (d drawn) Now() (scene, error) {
	objects, err := d.Followed.Now()
	if err != nil {
		return scene{}, err
	}
	return scene{pictureOf(objects), objects}, nil
}

// enter returns the room of a rollout, and the function that leaves it.
func (r *rooms) enter(namespace, name string) (found *room, leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep()
	key := namespace + "/" + name
	if found = r.open[key]; found == nil {
		ctx, end := context.WithCancel(r.root)
		follow := func(ctx context.Context) Followed[scene] { return drawn{r.hub.Follow(ctx, namespace, name)} }
		found = &room{board: newBoard(ctx, follow, sameScene), end: end}
		r.open[key] = found
	}
	found.users++
	return found, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		found.users--
		found.left = r.now()
		time.AfterFunc(idleAfter+time.Second, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.sweep()
		})
	}
}

// sweep ends the rooms that no tab has shown for a while.
func (r *rooms) sweep() {
	for key, room := range r.open {
		if room.users == 0 && r.now().Sub(room.left) > idleAfter {
			room.end()
			delete(r.open, key)
		}
	}
}

// sameScene reports whether two scenes look the same.
func sameScene(a, b scene) bool { return updateOf(a.picture, b.picture, 0) == nil }

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
			return s.value.objects, s.err
		}
		select {
		case <-ctx.Done():
			return nil, ErrNotReady
		case <-changed:
		}
	}
}
