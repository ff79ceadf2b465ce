package plan

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
)

// The history limit deleted a revision whose rollout was aborted, and its template came back. That is a rollout of its own: the old abort is
// not restored.
func TestRestoreOfARevisionThatWasMadeAgain(t *testing.T) {
	h := newHub(3)
	h.abort("v3", 30)
	h = upgraded(t, h)
	h.roll("v4")
	aborted := h.revision("v3")
	h.revisions = slices.DeleteFunc(h.revisions, func(rev *appsv1.ControllerRevision) bool { return rev == aborted })
	h.roll("v3")
	live := h.state(t)
	_, r, ended := h.starts("v1.0.0")
	require.True(t, ended)
	require.Empty(t, r.Restored)
	require.Equal(t, live, h.state(t))
}
