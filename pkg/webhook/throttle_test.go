package webhook

import (
	"bytes"
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

// long is what no test waits for.
const long = time.Hour

// blocking is a webhook whose reviews end when the test lets them.
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
	<-b.end
}

func newTestThrottle(next http.Handler) *throttle {
	t := newThrottle(next, 1000)
	t.patience, t.reading = long, long
	return t
}

// send returns the answer to a request with this body.
func send(t *throttle, ctx context.Context, body io.Reader) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	t.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", body))
	return answer
}

// TestReviewsAreThrottled: no more reviews are under way than there are slots; the next one waits, and is sent away where that takes too
// long. Large ones have slots of their own.
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
		answer := send(throttle, t.Context(), body)
		require.Equal(t, http.StatusTooManyRequests, answer.Code)
		require.Equal(t, "1", answer.Header().Get("Retry-After"), "API servers ask again by themselves")
		require.Contains(t, answer.Body.String(), "none of them ended within 1ms: try again")
	}
	require.Empty(t, reviews.began)

	throttle.patience = long
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, http.StatusTooManyRequests, send(throttle, ctx, strings.NewReader(small)).Code, "the API server has gone")
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

// TestRequestsHaveASize: more than an API server can send is not read to its end.
func TestRequestsHaveASize(t *testing.T) {
	throttle := newTestThrottle(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Len(t, body, maxRequest)
	}))
	whole := bytes.Repeat([]byte("x"), maxRequest+1)
	require.Equal(t, http.StatusOK, send(throttle, t.Context(), bytes.NewReader(whole[1:])).Code)
	for _, body := range []io.Reader{bytes.NewReader(whole), io.MultiReader(bytes.NewReader(whole))} {
		answer := send(throttle, t.Context(), body)
		require.Equal(t, http.StatusRequestEntityTooLarge, answer.Code)
		require.Contains(t, answer.Body.String(), "a review may have 7340032 bytes")
	}
}

// served calls a throttle by HTTP/1.1 and HTTP/2.
func served(t *testing.T, throttle *throttle, check func(t *testing.T, server *httptest.Server)) {
	t.Helper()
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP/%d", version), func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != version {
					w.WriteHeader(http.StatusHTTPVersionNotSupported)
					return
				}
				throttle.ServeHTTP(w, r)
			}))
			server.EnableHTTP2 = version == 2
			server.StartTLS()
			defer server.Close()
			check(t, server)
		})
	}
}

// TestSlowRequestHoldsNoSlot: whoever sends half of a request keeps nobody waiting for long.
func TestSlowRequestHoldsNoSlot(t *testing.T) {
	throttle := newTestThrottle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	throttle.reading = 50 * time.Millisecond
	served(t, throttle, func(t *testing.T, server *httptest.Server) {
		body, writer := io.Pipe()
		defer writer.CloseWithError(errors.New("the test is over"))
		go func() { _, _ = writer.Write([]byte("half")) }()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
		require.NoError(t, err)
		request.ContentLength = 100
		answer, err := server.Client().Do(request)
		require.NoError(t, err)
		defer answer.Body.Close()
		require.Equal(t, http.StatusBadRequest, answer.StatusCode)
		content, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Contains(t, string(content), "reading the request, send it within 50ms")
		require.True(t, throttle.small.TryAcquire(smallReviews), "no turn is taken")
		throttle.small.Release(smallReviews)
	})
}

// TestSlowConnectionsRefuseNoReview: 100 clients that send half of a request keep nobody out who sends a whole one, from the same address neither.
func TestSlowConnectionsRefuseNoReview(t *testing.T) {
	throttle := newTestThrottle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	throttle.patience = time.Millisecond
	served(t, throttle, func(t *testing.T, server *httptest.Server) {
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
			answer, err := server.Client().Post(server.URL, "application/json", strings.NewReader("{}"))
			require.NoError(t, err)
			_ = answer.Body.Close()
			require.Equal(t, http.StatusOK, answer.StatusCode)
		}
	})
}

// blockedReader has nothing to read until the end.
type blockedReader struct {
	began chan<- struct{}
	end   <-chan struct{}
}

func (b *blockedReader) Read([]byte) (int, error) {
	b.began <- struct{}{}
	<-b.end
	return 0, io.ErrUnexpectedEOF
}

// TestRequestsAreBounded: no more requests and bytes are held than the bounds allow, and a request that ends makes room.
func TestRequestsAreBounded(t *testing.T) {
	reviews := newBlocking()
	throttle := newTestThrottle(reviews)
	throttle.requests, throttle.bytes = semaphore.NewWeighted(2), semaphore.NewWeighted(10)
	answers := make(chan int, 10)
	ask := func(body string) int {
		answer := send(throttle, t.Context(), strings.NewReader(body))
		if answer.Code == http.StatusTooManyRequests {
			require.Equal(t, "1", answer.Header().Get("Retry-After"))
		}
		return answer.Code
	}
	begin := func(body string) {
		go func() { answers <- ask(body) }()
		<-reviews.began
	}
	begin("12345")
	require.Equal(t, http.StatusTooManyRequests, ask("123456"), "bytes")
	begin("12345")
	require.Equal(t, http.StatusTooManyRequests, ask(""), "requests")
	close(reviews.end)
	for range 2 {
		require.Equal(t, http.StatusOK, <-answers)
	}
	require.Equal(t, http.StatusOK, ask("1234567890"))
	require.True(t, throttle.requests.TryAcquire(2))
	require.True(t, throttle.bytes.TryAcquire(10))
}

// TestReviewMayTakeLongerThanReading: the time for the body ends with the body.
func TestReviewMayTakeLongerThanReading(t *testing.T) {
	t.Parallel()
	throttle := newTestThrottle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			w.WriteHeader(http.StatusGone)
		case <-time.After(time.Second):
		}
	}))
	throttle.reading = 500 * time.Millisecond
	served(t, throttle, func(t *testing.T, server *httptest.Server) {
		answer, err := server.Client().Post(server.URL, "application/json", strings.NewReader("{}"))
		require.NoError(t, err)
		defer answer.Body.Close()
		require.Equal(t, http.StatusOK, answer.StatusCode)
	})
}
