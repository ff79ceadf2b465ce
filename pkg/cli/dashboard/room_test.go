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

// TestRoomEnds: the watches of a rollout end after the last tab has been closed for idleAfter, but not while another tab shows it.
func TestRoomEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := &followedHub{fakeHub: fakeHub{err: ErrNotReady}}
		rooms := &rooms{hub: hub, root: t.Context(), open: map[string]*room{}}
		first, leave := rooms.enter("default", "web")
		leave()
		<-time.After(idleAfter / 2)
		again, leave := rooms.enter("default", "web")
		require.Same(t, first, again)
		<-time.After(idleAfter)
		require.NoError(t, hub.ctx.Err())
		leave()
		<-time.After(idleAfter + time.Second)
		require.Error(t, hub.ctx.Err())
		rooms.mu.Lock()
		defer rooms.mu.Unlock()
		require.Empty(t, rooms.open)
	})
}
