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
	// maxRequest is the maximum size of a request in bytes: the new object and the old one, of up to 3 MB each, as API servers accept them,
	// and 1 MB for the rest.
	maxRequest = 7 << 20
	// maxRequests and maxBytes limit the requests that are being read or reviewed, or wait for that, and the bytes that are held of them. An
	// API server runs up to 200 writes at once by default.
	maxRequests, maxBytes = 2048, 192 << 20
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
// ManifestWorkReplicaSets never hold up those of ManifestWorks. A request is read before it waits for its turn, so a slow client holds no
// turn.
type throttle struct {
	next http.Handler
	// above is the size in bytes from which on a request is large.
	above             int
	small, large      *semaphore.Weighted
	requests, bytes   *semaphore.Weighted
	patience, reading time.Duration
}

// newThrottle returns a throttle around a webhook whose manifests may have limit bytes. A request that holds two such objects, and half a
// megabyte beside them, is a small one.
func newThrottle(next http.Handler, limit int) *throttle {
	return &throttle{
		next: next, above: 2*limit + 1<<19,
		small: semaphore.NewWeighted(smallReviews), large: semaphore.NewWeighted(largeReviews),
		requests: semaphore.NewWeighted(maxRequests), bytes: semaphore.NewWeighted(maxBytes),
		patience: patience, reading: maxReading,
	}
}

// errCrowded is why a request is not read to its end.
var errCrowded = errors.New("too many bytes of other requests are held")

// ServeHTTP implements http.Handler.
func (t *throttle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength > maxRequest {
		tooLarge(w)
		return
	}
	if !t.requests.TryAcquire(1) {
		tryAgain(w, fmt.Sprintf("%d requests are under way", maxRequests))
		return
	}
	defer t.requests.Release(1)
	body := &heldBody{bytes: t.bytes}
	defer body.release()
	err := t.read(w, r, body)
	tooMuch := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &tooMuch):
		tooLarge(w)
	case errors.Is(err, errCrowded):
		tryAgain(w, err.Error())
	case err != nil:
		http.Error(w, fmt.Sprintf("reading the request, send it within %v: %v", t.reading, err), http.StatusBadRequest)
	default:
		t.review(w, r, body)
	}
}

// review waits for a turn, and answers.
func (t *throttle) review(w http.ResponseWriter, r *http.Request, body *heldBody) {
	turns := t.small
	if body.Len() > t.above {
		turns = t.large
	}
	ctx, cancel := context.WithTimeout(r.Context(), t.patience)
	defer cancel()
	if !turns.TryAcquire(1) && turns.Acquire(ctx, 1) != nil {
		tryAgain(w, fmt.Sprintf("other reviews of this size are under way, and none of them ended within %v", t.patience))
		return
	}
	defer turns.Release(1)
	r.Body = io.NopCloser(&body.Buffer)
	t.next.ServeHTTP(w, r)
}

// tryAgain sends a request away for now. API servers read the header, and ask again by themselves as long as their user waits.
func tryAgain(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why+": try again", http.StatusTooManyRequests)
}

// heldBody is the body of a request as far as it was read.
type heldBody struct {
	bytes.Buffer
	bytes *semaphore.Weighted
	held  int64
}

// Write implements io.Writer.
func (b *heldBody) Write(part []byte) (int, error) {
	if !b.bytes.TryAcquire(int64(len(part))) {
		return 0, errCrowded
	}
	b.held += int64(len(part))
	return b.Buffer.Write(part)
}

func (b *heldBody) release() { b.bytes.Release(b.held) }

// read reads the body of a request, which must come in time. Go's server ends the deadline with the body.
func (t *throttle) read(w http.ResponseWriter, r *http.Request, body *heldBody) error {
	if r.Body == nil {
		return nil
	}
	connection := http.NewResponseController(w)
	if err := connection.SetReadDeadline(time.Now().Add(t.reading)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	// The buffer's own ReadFrom would not count.
	_, err := io.Copy(struct{ io.Writer }{body}, http.MaxBytesReader(w, r.Body, maxRequest))
	return err
}

func tooLarge(w http.ResponseWriter) {
	http.Error(w, fmt.Sprintf("a review may have %d bytes: send a smaller object", maxRequest), http.StatusRequestEntityTooLarge)
}
