package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// followedHub records the context of the watches.
type followedHub struct {
	fakeHub
	ctx context.Context //nolint:containedctx // The test checks whether it has ended.
}

func (h *followedHub) Follow(ctx context.Context, namespace, name string) Followed[*view.Objects] {
	h.ctx = ctx
	return h.fakeHub.Follow(ctx, namespace, name)
}

// TestRoomEnds: the watches of a rollout end when no tab has requested it for idleAfter.
func TestRoomEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := &followedHub{fakeHub: fakeHub{err: ErrNotReady}}
		rooms := &rooms{hub: hub, root: t.Context(), open: map[string]*room{}}
		first := rooms.roomOf("default", "web")
		<-time.After(idleAfter / 2)
		require.Same(t, first, rooms.roomOf("default", "web"))
		<-time.After(idleAfter - time.Second)
		require.NoError(t, hub.ctx.Err())
		<-time.After(2 * time.Second)
		require.Error(t, hub.ctx.Err())
		rooms.mu.Lock()
		defer rooms.mu.Unlock()
		require.Empty(t, rooms.open)
	})
}

// TestRoomWhoseTimerHasFired: a tab gets a new room, and the end of the old room does not end the new one.
func TestRoomWhoseTimerHasFired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rooms := &rooms{hub: &fakeHub{err: ErrNotReady}, root: t.Context(), open: map[string]*room{}}
		first := rooms.roomOf("default", "web")
		require.True(t, first.idle.Stop()) // As if it had fired, and its function waited for the lock.
		second := rooms.roomOf("default", "web")
		require.NotSame(t, first, second)
		first.idle.Reset(0)
		<-time.After(time.Second)
		require.Same(t, second, rooms.roomOf("default", "web"))
	})
}

// TestShownWaits: a request waits until the objects of a new room are read, for at most readTimeout.
func TestShownWaits(t *testing.T) {
	for status, ready := range map[int]time.Duration{
		http.StatusOK:                 readTimeout / 2,
		http.StatusServiceUnavailable: 2 * readTimeout,
	} {
		synctest.Test(t, func(t *testing.T) {
			hub := &fakeHub{err: ErrNotReady}
			time.AfterFunc(ready, func() { hub.set(fleetOf(3), nil) })
			s := &Server{hub: hub, rooms: &rooms{hub: hub, root: t.Context(), open: map[string]*room{}}}
			answer := httptest.NewRecorder()
			s.shown(func(*http.Request, *view.Objects) (any, error) { return "shown", nil })(answer,
				httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			require.Equal(t, status, answer.Code)
		})
	}
}
