package memory

import (
	"errors"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/rejection"
)

// The errors of writes that were not tried, that the hub may not make, or whose result the cache does not show.
var (
	// ErrNotPermitted is the error of a write for which the hub lacks the permission. The API server does not reject the work for that.
	ErrNotPermitted = errors.New("the hub lacks the permission")
	// ErrLater is the error of a write that was left to the next pass.
	ErrLater = errors.New("left to the next pass")
	// ErrRefusedLately is the error of a write that was not tried because the API server rejected it recently.
	ErrRefusedLately = errors.New("refused lately")
	// ErrUnseen is the error of a work of the owner that exists, but that the cache does not show yet.
	ErrUnseen = errors.New("the cache has not shown the work yet")
)

// RefusedInterval is the longest time between two tries of a write that the API server rejects, and firstRetry is the
// shortest. A try in each pass would be too frequent: the reports of a thousand agents would lead to a thousand tries.
const (
	RefusedInterval = time.Minute
	firstRetry      = time.Second
)

// Attempt is a write of a ManifestWork, as this process remembers it.
type Attempt struct {
	// What is the name of the written object in messages.
	What string
	// Target is the intended result. A write with a different target counts as a new write without a history.
	Target string
	// Cluster is the cluster whose work gets the desired revision; empty for any other write.
	Cluster string
	// Last is true if the write is tried even if the API server rejected it recently.
	Last bool
}

// Attempted is a write and its result.
type Attempted struct {
	Attempt
	Err error
}

// IsLasting reports whether the API server rejects a write: a retry alone does not help.
func IsLasting(err error) bool {
	return !errors.Is(err, ErrUnseen) && !errors.Is(err, ErrLater) && !errors.Is(err, ErrNotPermitted) && rejection.IsLasting(err)
}

// RequestError is a failed request: its name, and the API server's error.
type RequestError struct {
	What string
	Err  error
}

// Error implements error.
func (e *RequestError) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *RequestError) Unwrap() error { return e.Err }
