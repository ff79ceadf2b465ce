package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// If one place is readable and the other has a later format, a process that is killed and restarted has the same result as a process that
// is not killed.
func TestKilledWithOnePlaceLater(t *testing.T) {
	look := func() *hub {
		h := upgraded(t, newHub(3))
		h.abort(50)
		h.holdIn("copy", later)
		return h
	}
	whole, parts := look(), look()
	_, _, _ = whole.starts("v1.0.0")
	parts.writes = 3
	_, _, _ = parts.starts("v1.0.0")
	parts.writes = -1
	_, _, _ = parts.starts("v1.0.0")
	require.Equal(t, whole.decisions(), parts.decisions())
}
