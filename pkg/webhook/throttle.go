package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// maxRequest is how many bytes a request may have: the new object and the old one, of up to 3 MB each, as API servers take them, and
	// 1 MB for the rest.
	maxRequest = 7 << 20
	// smallReviews and largeReviews are how many reviews of each of the two sizes are under way at once. The small ones bound what a
	// usual burst of writes costs; the large ones, which are refused for their size, never hold up a small one.
	smallReviews = 16
	largeReviews = 2
	// patience is how long a review waits for its turn. API servers wait 10 seconds for an answer, and ask again after this one.
	patience = 4 * time.Second
	// maxReading is how long the body of a request may take. API servers send it at once.
	maxReading = 5 * time.Second
)

// throttle bounds how many reviews are under way, and how large a request may be. Each webhook has one of its own, so that reviews of
// ManifestWorkReplicaSets never hold up those of ManifestWorks.
type throttle struct {
	next http.Handler
	// above is the size from which on a request is large.
	above    int64
	small    chan struct{}
	large    chan struct{}
	patience time.Duration
	reading  time.Duration
}

// newThrottle returns a throttle around a webhook whose manifests may have limit bytes. A request that holds two such objects, and half a
// megabyte beside them, is a small one.
func newThrottle(next http.Handler, limit int) *throttle {
	return &throttle{
		next: next, above: 2*int64(limit) + 1<<19,
		small: make(chan struct{}, smallReviews), large: make(chan struct{}, largeReviews),
		patience: patience, reading: maxReading,
	}
}

// ServeHTTP implements http.Handler.
func (t *throttle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength > maxRequest {
		tooLarge(w)
		return
	}
	slots := t.slots(r.ContentLength)
	if !enter(r.Context(), slots, t.patience) {
		// API servers read the header, and ask again by themselves as long as their user waits.
		w.Header().Set("Retry-After", "1")
		http.Error(w, fmt.Sprintf("%d reviews of this size are under way, and none of them ended within %v: try again", cap(slots), t.patience),
			http.StatusTooManyRequests)
		return
	}
	defer func() { <-slots }()
	body, err := t.read(w, r)
	if tooMuch := (*http.MaxBytesError)(nil); errors.As(err, &tooMuch) {
		tooLarge(w)
		return
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("reading the request, send it within %v: %v", t.reading, err), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	t.next.ServeHTTP(w, r)
}

// slots are those of requests with this length. One of unknown length, -1, counts as large.
func (t *throttle) slots(length int64) chan struct{} {
	if length < 0 || length > t.above {
		return t.large
	}
	return t.small
}

// enter waits for a slot, and reports whether there is one.
func enter(ctx context.Context, slots chan<- struct{}, patience time.Duration) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

// read returns the body of a request, which must come in time: it holds a slot. Go's server ends the deadline with the body.
func (t *throttle) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	connection := http.NewResponseController(w)
	if err := connection.SetReadDeadline(time.Now().Add(t.reading)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
}

func tooLarge(w http.ResponseWriter) {
	http.Error(w, fmt.Sprintf("a review may have %d bytes: send a smaller object", maxRequest), http.StatusRequestEntityTooLarge)
}
