package rejection

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workv1 "open-cluster-management.io/api/work/v1"
)

func TestIsLasting(t *testing.T) {
	works := workv1.Resource("manifestworks")
	forbidden := apierrors.NewForbidden(works, "web", errors.New("a quota"))
	for _, err := range []error{
		forbidden, fmt.Errorf("writing: %w", forbidden), apierrors.NewBadRequest("a field"),
		apierrors.NewNotFound(workv1.Resource("namespaces"), "c1"), apierrors.NewMethodNotSupported(works, "patch"),
		apierrors.NewAlreadyExists(works, "web"),
	} {
		require.True(t, IsLasting(err), err)
	}
	for _, err := range []error{
		nil, errors.New("connection refused"), apierrors.NewConflict(works, "web", errors.New("newer")),
		apierrors.NewUnauthorized("the token has expired"), apierrors.NewTooManyRequests("busy", 1), apierrors.NewServerTimeout(works, "patch", 1),
		apierrors.NewTimeoutError("late", 1), apierrors.NewServiceUnavailable("starting"), apierrors.NewInternalError(errors.New("a webhook is unavailable")),
	} {
		require.False(t, IsLasting(err), err)
	}
}

func TestIsMissingPermission(t *testing.T) {
	works := workv1.Resource("manifestworks")
	missing := errors.New(`User "hub" cannot patch resource "manifestworks" in API group "work.open-cluster-management.io" in the namespace "c1"`)
	require.True(t, IsMissingPermission(fmt.Errorf("writing: %w", apierrors.NewForbidden(works, "web", missing))))
	require.False(t, IsMissingPermission(apierrors.NewForbidden(works, "web", errors.New(`ValidatingAdmissionPolicy 'p' denied the request: User "hub"`))))
	require.True(t, IsMissingPermission(apierrors.NewForbidden(works, "", missing)), "a create")
	require.False(t, IsMissingPermission(apierrors.NewInternalError(missing)))
	other := `secrets is forbidden: User "policies" cannot list resource "secrets" in API group ""`
	require.False(t, IsMissingPermission(apierrors.NewForbidden(works, "web", errors.New("ValidatingAdmissionPolicy 'p' denied request: "+other))))
	webhook := apierrors.NewForbidden(works, "web", missing)
	webhook.ErrStatus.Message = `admission webhook "policies" denied the request: ` + other
	require.False(t, IsMissingPermission(webhook), "the webhook lacks the permission")
	require.False(t, IsMissingPermission(nil))
}
