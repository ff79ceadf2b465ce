// Package rejection distinguishes lasting errors of requests from transient errors.
package rejection

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsLasting reports whether the API server rejects a write for a reason that lasts: the same write is rejected again
// until a user removes the cause. Transient errors are a conflict, an object that already exists, a busy or slow
// server, and expired credentials of the hub.
func IsLasting(err error) bool {
	switch {
	case apierrors.IsConflict(err), apierrors.IsUnauthorized(err),
		apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err):
		return false
	}
	var known apierrors.APIStatus
	return errors.As(err, &known) && known.Status().Code >= http.StatusBadRequest && known.Status().Code < http.StatusInternalServerError
}

// IsMissingPermission reports whether the API server rejects a request because the hub lacks the permission. Only the text shows this: a
// quota or a policy is answered with the same code. If a webhook or a policy itself lacks a permission, its answer quotes a similar text
// after its own name.
func IsMissingPermission(err error) bool {
	var known apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &known) {
		return false
	}
	what, cause, _ := strings.Cut(known.Status().Message, " is forbidden: ")
	return strings.HasPrefix(cause, `User "`) && !strings.HasPrefix(what, "admission webhook ")
}
