package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
// ManifestWorkReplicaSets never hold up those of ManifestWorks. A request is read before it waits for its turn, and its answer is written
// after it: a slow client holds no turn.
type throttle struct {
	next http.Handler
	// above is the size from which on a request is large.
	above    int64
	small    chan struct{}
	large    chan struct{}
	patience time.Duration
	reading  time.Duration
	// requests and bytes bound what is held of requests that are read or wait.
	requests, bytes *crowd
}

// newThrottle returns a throttle around a webhook whose manifests may have limit bytes. A request that holds two such objects, and half a
// megabyte beside them, is a small one.
func newThrottle(next http.Handler, limit int) *throttle {
	return &throttle{
		next: next, above: 2*int64(limit) + 1<<19,
		small: make(chan struct{}, smallReviews), large: make(chan struct{}, largeReviews),
		patience: patience, reading: maxReading,
		requests: newCrowd(sourceRequests, maxRequests), bytes: newCrowd(sourceBytes, maxBytes),
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
	source := sourceOf(r.RemoteAddr)
	if !t.requests.enter(source, 1) {
		tryAgain(w, fmt.Sprintf("%d requests of one address, or %d in all, are under way", t.requests.perSource, t.requests.most))
		return
	}
	defer t.requests.leave(source, 1)
	body := &heldBody{bytes: t.bytes, source: source}
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

// review waits for a turn, and answers when the review has ended.
func (t *throttle) review(w http.ResponseWriter, r *http.Request, body *heldBody) {
	slots := t.slots(int64(body.Len()))
	if !enter(r.Context(), slots, t.patience) {
		tryAgain(w, fmt.Sprintf("%d reviews of this size are under way, and none of them ended within %v", cap(slots), t.patience))
		return
	}
	answer := &heldAnswer{header: http.Header{}, status: http.StatusOK}
	func() {
		defer func() { <-slots }()
		r.Body = io.NopCloser(&body.Buffer)
		t.next.ServeHTTP(answer, r)
	}()
	answer.writeTo(w)
}

// tryAgain sends a request away for now. API servers read the header, and ask again by themselves as long as their user waits.
func tryAgain(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why+": try again", http.StatusTooManyRequests)
}

// heldBody is the body of a request as far as it was read. What it holds counts for its address.
type heldBody struct {
	bytes.Buffer
	bytes  *crowd
	source string
	held   int
}

// Write implements io.Writer.
func (b *heldBody) Write(part []byte) (int, error) {
	if !b.bytes.enter(b.source, len(part)) {
		return 0, errCrowded
	}
	b.held += len(part)
	return b.Buffer.Write(part)
}

func (b *heldBody) release() { b.bytes.leave(b.source, b.held) }

// heldAnswer is an answer that is not written yet. It has a few kilobytes.
type heldAnswer struct {
	bytes.Buffer
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (a *heldAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *heldAnswer) WriteHeader(status int) { a.status = status }

func (a *heldAnswer) writeTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.Bytes())
}

// slots are those of requests with this length.
func (t *throttle) slots(length int64) chan struct{} {
	if length > t.above {
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
