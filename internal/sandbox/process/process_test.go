package process

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func newGroup(t *testing.T) *Group {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	group, err := NewGroup("test")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, group.Stop(context.Background())) })
	return group
}

func TestAProcessThatEndsShowsItsLog(t *testing.T) {
	group := newGroup(t)
	child, err := group.Start(Command{Name: "short", Path: "/bin/sh", Args: []string{"-c", "echo it broke; exit 3"}})
	require.NoError(t, err)
	err = child.WaitReady(t.Context(), time.Minute, func(context.Context) error { return errors.New("not yet") })
	require.EqualError(t, err, "short ended: exit status 3; the end of its log:\nit broke")
}

func TestStopAsksFirst(t *testing.T) {
	group := newGroup(t)
	script := `trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done`
	child, err := group.Start(Command{Name: "polite", Path: "/bin/sh", Args: []string{"-c", script}})
	require.NoError(t, err)
	require.NoError(t, child.WaitReady(t.Context(), time.Minute, func(context.Context) error {
		if child.LogTail(1) != "ready" {
			return errors.New("not yet")
		}
		return nil
	}))
	require.NoError(t, child.Stop(t.Context()))
	require.Equal(t, "bye", child.LogTail(1))
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	group := newGroup(t)
	child, err := group.Start(Command{Name: "stubborn", Path: "/bin/sh", Args: []string{"-c", `trap '' TERM; while :; do sleep 0.05; done`}})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.NoError(t, child.Stop(ctx))
	ended, _ := child.Exited()
	require.True(t, ended)
}
