package dashboard

import (
	"context"
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

// TestRoomEnds: the watches of a rollout end when no tab has asked for it for idleAfter.
func TestRoomEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := &followedHub{fakeHub: fakeHub{err: ErrNotReady}}
		rooms := &rooms{hub: hub, root: t.Context(), open: map[string]*room{}}
		first := rooms.of("default", "web")
		<-time.After(idleAfter / 2)
		require.Same(t, first, rooms.of("default", "web"))
		<-time.After(idleAfter - time.Second)
		require.NoError(t, hub.ctx.Err())
		<-time.After(2 * time.Second)
		require.Error(t, hub.ctx.Err())
		rooms.mu.Lock()
		defer rooms.mu.Unlock()
		require.Empty(t, rooms.open)
	})
}
