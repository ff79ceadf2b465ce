package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"
)

// long is a duration that no test waits for.
const long = time.Hour

// blocking is a webhook whose reviews end when the test lets them, or when the client disconnects.
type blocking struct {
	began chan string
	end   chan struct{}
}

func newBlocking() *blocking {
	return &blocking{began: make(chan string, 100), end: make(chan struct{})}
}

func (b *blocking) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.began <- string(body)
	select {
	case <-b.end:
	case <-r.Context().Done():
	}
}

func newTestThrottle(next http.Handler) *throttle {
	t := newThrottle(next, 1000)
	t.patience = long
	return t
}

// send returns the answer to a request with this body.
func send(t *throttle, ctx context.Context, body io.Reader) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	t.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", body))
	return answer
}

// refused returns the text of the answer that rejects a request.
func refused(t *testing.T, throttle *throttle, body io.Reader) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	answer := send(throttle, ctx, body)
	require.Equal(t, http.StatusTooManyRequests, answer.Code)
	require.Equal(t, "1", answer.Header().Get("Retry-After"), "API servers retry on their own")
	return answer.Body.String()
}

// TestReviewsAreThrottled: no more reviews run at once than there are slots. The next one waits, and is rejected if that takes too long.
// Large reviews have their own slots.
func TestReviewsAreThrottled(t *testing.T) {
	const small = "small"
	large := strings.Repeat("x", 3000+1<<19)
	reviews := newBlocking()
	throttle := newTestThrottle(reviews)
	answers := make(chan int, 100)
	begin := func(n int, body string) {
		for range n {
			go func() { answers <- send(throttle, t.Context(), strings.NewReader(body)).Code }()
		}
		for range n {
			require.Equal(t, body, <-reviews.began)
		}
	}
	begin(smallReviews, small)
	begin(largeReviews, large)

	throttle.patience = time.Millisecond
	for _, body := range []io.Reader{strings.NewReader(small), strings.NewReader(large), io.MultiReader(strings.NewReader(small))} {
		require.Contains(t, refused(t, throttle, body), "none of them ended within 1ms: try again")
	}
	require.Empty(t, reviews.began)

	throttle.patience = long
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, http.StatusTooManyRequests, send(throttle, ctx, strings.NewReader(small)).Code, "the API server has disconnected")
	waiting := make(chan int)
	go func() { waiting <- send(throttle, t.Context(), strings.NewReader("waited")).Code }()
	reviews.end <- struct{}{}
	close(reviews.end)
	require.Equal(t, http.StatusOK, <-waiting)
	for range smallReviews + largeReviews {
		require.Equal(t, http.StatusOK, <-answers)
	}
	require.True(t, throttle.small.TryAcquire(smallReviews))
	require.True(t, throttle.large.TryAcquire(largeReviews))
}

// served calls a throttle behind the server over HTTP/1.1 and HTTP/2.
func served(t *testing.T, throttle *throttle, reading time.Duration, check func(t *testing.T, server *httptest.Server)) {
	t.Helper()
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP/%d", version), func(t *testing.T) {
			server := httptest.NewUnstartedServer(nil)
			server.Config = newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != version {
					w.WriteHeader(http.StatusHTTPVersionNotSupported)
					return
				}
				throttle.ServeHTTP(w, r)
			}))
			require.Equal(t, maxReading, server.Config.ReadTimeout)
			server.Config.ReadTimeout = reading
			server.EnableHTTP2 = version == 2
			server.StartTLS()
			defer server.Close()
			check(t, server)
		})
	}
}

// answered returns the code and the text of the answer to a request with this body.
func answered(t *testing.T, server *httptest.Server, body io.Reader, length int64) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
	require.NoError(t, err)
	request.ContentLength = length
	answer, err := server.Client().Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(content)
}

// TestRequestsHaveASize: a request that is larger than an API server can send is not read to the end.
func TestRequestsHaveASize(t *testing.T) {
	throttle := newTestThrottle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	whole := strings.Repeat("x", maxRequest+1)
	served(t, throttle, maxReading, func(t *testing.T, server *httptest.Server) {
		code, text := answered(t, server, strings.NewReader(whole[1:]), maxRequest)
		require.Equal(t, http.StatusOK, code)
		require.Len(t, text, maxRequest)
		for _, length := range []int64{maxRequest + 1, -1} {
			code, text := answered(t, server, strings.NewReader(whole), length)
			require.Equal(t, http.StatusRequestEntityTooLarge, code)
			require.Contains(t, text, "a review is limited to 7340032 bytes")
		}
		require.True(t, throttle.bytes.TryAcquire(maxBytes), "no bytes are held")
		throttle.bytes.Release(maxBytes)
	})
	answer, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(whole))
	request.ContentLength = maxBytes
	newHTTPServer(throttle).Handler.ServeHTTP(answer, request)
	require.Equal(t, http.StatusRequestEntityTooLarge, answer.Code, "whatever length it announces")
}

// TestSlowRequestHoldsNoSlot: a client that sends half of a request does not delay other clients for long.
func TestSlowRequestHoldsNoSlot(t *testing.T) {
	throttle := newTestThrottle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	served(t, throttle, 50*time.Millisecond, func(t *testing.T, server *httptest.Server) {
		body, writer := io.Pipe()
		defer writer.CloseWithError(errors.New("the test has ended"))
		go func() { _, _ = writer.Write([]byte("half")) }()
		code, text := answered(t, server, body, 100)
		require.Equal(t, http.StatusBadRequest, code)
		require.Contains(t, text, "reading the request failed: it must be sent within 5s")
		require.True(t, throttle.small.TryAcquire(smallReviews), "no slot is taken")
		throttle.small.Release(smallReviews)
	})
}

// TestSlowConnectionsRefuseNoReview: 100 clients that send half of a request do not keep out a client that sends a whole one, even from the
// same address.
func TestSlowConnectionsRefuseNoReview(t *testing.T) {
	throttle := newTestThrottle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	throttle.patience = time.Millisecond
	served(t, throttle, long, func(t *testing.T, server *httptest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := make(chan struct{}, 100)
		for range 100 {
			body := io.MultiReader(strings.NewReader("half"), &blockedReader{began: began, end: ctx.Done()})
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, body)
			require.NoError(t, err)
			request.ContentLength = 100
			go func() {
				if answer, err := server.Client().Do(request); err == nil {
					_ = answer.Body.Close()
				}
			}()
		}
		for range 100 {
			<-began
		}
		for range 20 {
			code, _ := answered(t, server, strings.NewReader("{}"), 2)
			require.Equal(t, http.StatusOK, code)
		}
	})
}

// blockedReader blocks each read until the test ends.
type blockedReader struct {
	began chan<- struct{}
	end   <-chan struct{}
}

func (b *blockedReader) Read([]byte) (int, error) {
	b.began <- struct{}{}
	<-b.end
	return 0, io.ErrUnexpectedEOF
}

// TestRequestsAreBounded: no more bytes are held than the bound allows. A request counts with the length that it announces, and a request
// of unknown length counts with the maximum. A request that ends frees its bytes.
func TestRequestsAreBounded(t *testing.T) {
	reviews := newBlocking()
	throttle := newTestThrottle(reviews)
	throttle.bytes = semaphore.NewWeighted(maxRequest + 2*beside)
	answers := make(chan int, 10)
	begin := func(body io.Reader) {
		go func() { answers <- send(throttle, t.Context(), body).Code }()
		<-reviews.began
	}
	begin(http.NoBody)
	begin(io.MultiReader(strings.NewReader("of unknown length")))
	for _, body := range []io.Reader{strings.NewReader("x"), http.NoBody} {
		require.Contains(t, refused(t, throttle, body), "too much memory is in use by other requests: try again")
	}
	close(reviews.end)
	for range 2 {
		require.Equal(t, http.StatusOK, <-answers)
	}
	require.True(t, throttle.bytes.TryAcquire(maxRequest+1))
	require.NotEmpty(t, refused(t, throttle, strings.NewReader(strings.Repeat("x", beside))))
	require.Equal(t, http.StatusOK, send(throttle, t.Context(), strings.NewReader(strings.Repeat("x", beside-1))).Code)
	require.True(t, throttle.bytes.TryAcquire(2*beside-1), "no bytes are held")
}

// TestReviewMayTakeLongerThanReading: the time limit for the body ends with the body.
func TestReviewMayTakeLongerThanReading(t *testing.T) {
	t.Parallel()
	throttle := newTestThrottle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			w.WriteHeader(http.StatusGone)
		case <-time.After(time.Second):
		}
	}))
	served(t, throttle, 500*time.Millisecond, func(t *testing.T, server *httptest.Server) {
		code, _ := answered(t, server, strings.NewReader("{}"), 2)
		require.Equal(t, http.StatusOK, code)
	})
}
