package memory

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A refusal lasts until its cause is removed. What is busy, late or newer is no refusal.
func TestIsLasting(t *testing.T) {
	for _, err := range []error{refusedBy("a quota"), fmt.Errorf("writing: %w", refusedBy("a webhook"))} {
		require.True(t, IsLasting(err), err)
	}
	for _, err := range []error{nil, ErrLater, fmt.Errorf("away: %w", ErrLater), ErrUnseen, internal("busy"), errors.New("connection refused")} {
		require.False(t, IsLasting(err), err)
	}
}
