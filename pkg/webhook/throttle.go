package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// maxBytes limits the total size of the requests that are being read or reviewed, or that wait for a review. An API
	// server runs up to 200 writes at once by default.
	maxBytes = 192 << 20
	// beside is the number of bytes that are charged for each request in addition to its body. This limits the number of
	// requests to 2,048.
	beside = 96 << 10
	// smallReviews and largeReviews limit the number of concurrent reviews of each size. The first limit bounds the
	// cost of a usual burst of writes. Large reviews, which end in a rejection for their size, never delay small
	// reviews.
	smallReviews = 16
	largeReviews = 2
	// patience is the time that a review waits for its turn. API servers wait 10 seconds for an answer, and retry after an answer with 429.
	patience = 4 * time.Second
)

// throttle limits the number of concurrent reviews. Each webhook has its own throttle, so that reviews of
// ManifestWorkReplicaSets never delay reviews of ManifestWorks. A request is read completely before it waits for its
// turn, so a slow client does not occupy a turn.
type throttle struct {
	next http.Handler
	// above is the size in bytes above which a request is large.
	above               int
	small, large, bytes *semaphore.Weighted
	patience            time.Duration
}

// newThrottle returns a throttle around a webhook whose manifests are limited to limit bytes. A request counts as small
// up to the size of two such objects and half a megabyte.
func newThrottle(next http.Handler, limit int) *throttle {
	return &throttle{
		next: next, above: 2*limit + 1<<19, patience: patience, bytes: semaphore.NewWeighted(maxBytes),
		small: semaphore.NewWeighted(smallReviews), large: semaphore.NewWeighted(largeReviews),
	}
}

// ServeHTTP implements http.Handler. The server bounds the size of the body, and the time to read it.
func (t *throttle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	held := r.ContentLength
	if held < 0 || held > maxRequest {
		held = maxRequest
	}
	held += beside
	if !t.bytes.TryAcquire(held) {
		tryAgain(w, "too much memory is in use by other requests")
		return
	}
	defer t.bytes.Release(held)
	body, err := io.ReadAll(r.Body)
	tooMuch := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &tooMuch):
		http.Error(w, fmt.Sprintf("a review is limited to %d bytes: send a smaller object", tooMuch.Limit), http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, fmt.Sprintf("reading the request failed: it must be sent within %v: %v", maxReading, err), http.StatusBadRequest)
	default:
		t.review(w, r, body)
	}
}

// review waits for a turn, and then answers the request.
func (t *throttle) review(w http.ResponseWriter, r *http.Request, body []byte) {
	turns := t.small
	if len(body) > t.above {
		turns = t.large
	}
	ctx, cancel := context.WithTimeout(r.Context(), t.patience)
	defer cancel()
	if !turns.TryAcquire(1) && turns.Acquire(ctx, 1) != nil {
		tryAgain(w, fmt.Sprintf("other reviews of this size are in progress, and none of them ended within %v", t.patience))
		return
	}
	defer turns.Release(1)
	r.Body = io.NopCloser(bytes.NewReader(body))
	t.next.ServeHTTP(w, r)
}

// tryAgain rejects a request temporarily. API servers obey the Retry-After header, and retry as long as their user waits.
func tryAgain(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why+": try again", http.StatusTooManyRequests)
}
