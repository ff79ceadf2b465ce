package memory

import (
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// What becomes of a write that was not made, or that the cache does not show.
var (
	// ErrLater is that of a write that was left to the next pass.
	ErrLater = errors.New("left to the next pass")
	// ErrRefusedLately is that of a write that was not tried: the API server refused it less than a minute ago.
	ErrRefusedLately = errors.New("refused less than a minute ago")
	// ErrUnseen is that of a work of ours which exists, and which the cache does not show yet.
	ErrUnseen = errors.New("the cache has not shown the work yet")
)

// RefusedInterval is how often a write that the API server refuses is tried again (R11). The queue's own back-off grows to a quarter of an
// hour, and whoever removed the cause would wait for it; with a try in each pass the reports of a thousand agents would be as many tries.
const RefusedInterval = time.Minute

// Attempt is a write of a ManifestWork, as this process remembers it.
type Attempt struct {
	// What is written, as a person calls it.
	What string
	// Target is what it is to become: another target is another write, of which nothing is known.
	Target string
	// Cluster is whose work becomes the desired revision; empty for another write.
	Cluster string
}

// Attempted is a write and its result.
type Attempted struct {
	Attempt
	Err error
}

// IsLasting reports whether the API server refuses a write: trying again changes nothing by itself.
func IsLasting(err error) bool {
	switch {
	case apierrors.IsConflict(err), errors.Is(err, ErrUnseen), errors.Is(err, ErrLater):
		return false
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err):
		return false
	}
	var known apierrors.APIStatus
	return errors.As(err, &known) && known.Status().Code < http.StatusInternalServerError
}

// RequestError is a request that failed, by what it was. The words of the API server follow.
type RequestError struct {
	What string
	Err  error
}

// Error implements error.
func (e *RequestError) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *RequestError) Unwrap() error { return e.Err }
