package memory

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workv1 "open-cluster-management.io/api/work/v1"
)

// A refusal lasts until its cause is removed. What is busy, late or newer is no refusal.
func TestIsLasting(t *testing.T) {
	works := workv1.Resource("manifestworks")
	for _, err := range []error{
		refusedBy("a quota"), apierrors.NewNotFound(workv1.Resource("namespaces"), "c1"), apierrors.NewBadRequest("a field"),
		fmt.Errorf("writing: %w", refusedBy("a webhook")),
	} {
		require.True(t, IsLasting(err), err)
	}
	for _, err := range []error{
		nil, ErrLater, fmt.Errorf("away: %w", ErrLater), ErrUnseen, internal("busy"), apierrors.NewConflict(works, "web", errors.New("newer")),
		apierrors.NewTooManyRequests("busy", 1), apierrors.NewServerTimeout(works, "patch", 1), apierrors.NewTimeoutError("late", 1),
		apierrors.NewServiceUnavailable("starting"), errors.New("connection refused"),
	} {
		require.False(t, IsLasting(err), err)
	}
}
