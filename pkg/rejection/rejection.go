// Package rejection tells the errors of requests that last from those that pass.
package rejection

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsLasting reports whether the API server rejects a write for a reason that lasts: the same write is rejected again until somebody
// removes the cause. A conflict, an object that exists meanwhile, a server that is busy or late, and expired credentials of the hub pass.
func IsLasting(err error) bool {
	switch {
	case apierrors.IsConflict(err), apierrors.IsUnauthorized(err),
		apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err):
		return false
	}
	var known apierrors.APIStatus
	return errors.As(err, &known) && known.Status().Code >= http.StatusBadRequest && known.Status().Code < http.StatusInternalServerError
}
