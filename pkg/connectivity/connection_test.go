package connectivity

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

var (
	things = schema.GroupVersionResource{Group: "x", Version: "v1", Resource: "things"}
	extras = schema.GroupVersionResource{Group: "x", Version: "v1", Resource: "extras"}
)

// A collection is identified by the path at which the API server lists it, including collections of the core group.
func TestSourceOf(t *testing.T) {
	require.Equal(t, source("/apis/x/v1/things"), sourceOf(things))
	require.Equal(t, source("/api/v1/pods"), sourceOf(schema.GroupVersionResource{Version: "v1", Resource: "pods"}))
}

// rig is a connection with a heartbeat, and its clock.
type rig struct {
	*Connection
	t   *testing.T
	clk *clocktesting.FakePassiveClock
	// answer and failure are the results of the next requests.
	answer    *http.Response
	failure   error
	transport http.RoundTripper
}

func newRig(t *testing.T) *rig {
	t.Helper()
	clk := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := &rig{Connection: New(clk), t: t, clk: clk}
	r.transport = r.under("")(roundTripperFunc(func(*http.Request) (*http.Response, error) { return r.answer, r.failure }))
	r.Beat()
	return r
}

// pass advances the clock, with a heartbeat every second.
func (r *rig) pass(seconds int) {
	for range seconds {
		r.clk.SetTime(r.clk.Now().Add(time.Second))
		r.Beat()
	}
}

// ask makes a request.
func (r *rig) ask(ctx context.Context, path string, status int, err error) {
	r.t.Helper()
	r.answer, r.failure = &http.Response{StatusCode: status, Body: http.NoBody}, err
	request, newErr := http.NewRequestWithContext(ctx, http.MethodGet, "http://hub/apis/x/v1/"+path, nil)
	require.NoError(r.t, newErr)
	response, gotErr := r.transport.RoundTrip(request)
	require.Equal(r.t, err, gotErr)
	require.NoError(r.t, response.Body.Close())
}

// was requires that the last gap has ended.
func (r *rig) was(end int64, length time.Duration, why ...any) {
	r.t.Helper()
	_, got := r.Look()
	require.Equal(r.t, Gap{End: time.Unix(end, 0), Length: length}, got, why...)
}

// lasts requires that the gap has not ended.
func (r *rig) lasts(why ...any) {
	r.t.Helper()
	now, got := r.Look()
	require.Equal(r.t, r.clk.Now(), now)
	require.Equal(r.t, Gap{End: now, Length: unknown}, got, why...)
}

var errRefused = errors.New("connection refused")

// A failed request begins a gap. Any answer ends it.
func TestGapOfTheAPIServer(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	r.pass(100)
	r.ask(ctx, "things/one", http.StatusOK, nil)
	r.was(1000, unknown, "the process began")
	r.ask(ctx, "things/one", 0, errRefused)
	r.pass(4)
	r.was(1000, unknown, "a hiccup")
	r.pass(1)
	r.lasts()
	r.pass(15)
	r.ask(ctx, "things/one", http.StatusServiceUnavailable, nil)
	r.lasts()
	r.ask(ctx, "things/one", http.StatusNotFound, nil)
	r.pass(100)
	r.was(1120, 20*time.Second)

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	r.ask(cancelled, "things/one", 0, context.Canceled)
	r.pass(100)
	r.was(1120, 20*time.Second, "the hub closed the connection")

	r.ask(ctx, "things/one", 0, errRefused)
	r.clk.SetTime(r.clk.Now().Add(-time.Hour))
	r.lasts("the clock was set back before an answer came")
}

// While an informer can't watch a collection, there is a gap, even if everything else is heard: the informer's cache is stale.
func TestGapOfACollection(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	r.pass(200)
	r.ask(ctx, "things?watch=true", 0, errRefused)
	r.ask(ctx, "others?limit=500", http.StatusOK, nil)
	r.ask(ctx, "things/one", http.StatusOK, nil)
	r.lasts("the things are not watched yet")
	r.pass(60)
	r.ask(ctx, "things?limit=500", http.StatusForbidden, nil)
	r.lasts("a server that is starting rejects it")
	r.ask(ctx, "things?limit=500", http.StatusOK, nil)
	r.pass(200)
	r.was(1260, time.Minute)

	r.WatchLost(things)
	r.lasts("the watch was accepted, and then ended because its version is too old")
	r.pass(3)
	r.ask(ctx, "things?watch=true", http.StatusOK, nil)
	r.was(1260, time.Minute, "a short gap counts only while it lasts")
}

// If the API server permanently rejects a collection that the hub does not require, there is no gap.
func TestOptionalCollection(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	r.pass(200)
	r.Optional(extras)
	r.ask(ctx, "extras?limit=500", http.StatusForbidden, nil)
	require.False(t, r.Refused(extras), "the server may be starting")
	r.pass(5)
	r.lasts()
	r.pass(15)
	r.ask(ctx, "extras?limit=500", http.StatusForbidden, nil)
	r.WatchLost(extras)
	r.pass(200)
	require.True(t, r.Refused(extras))
	r.was(1220, 20*time.Second)
	r.ask(ctx, "extras?limit=500", http.StatusOK, nil)
	require.False(t, r.Refused(extras))

	r.ask(ctx, "things?limit=500", http.StatusForbidden, nil)
	r.pass(20)
	r.ask(ctx, "things?limit=500", http.StatusForbidden, nil)
	require.False(t, r.Refused(things), "the hub requires the things")
	r.lasts()
}

// An occasional failed request, while others succeed, is not a gap: it must not keep deadlines from firing.
func TestConnectionSurvivesSingleFailures(t *testing.T) {
	for name, path := range map[string]string{"a write": "things/one", "a watch": "things?watch=true"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			for range 10 {
				r.pass(120)
				r.ask(t.Context(), path, http.StatusServiceUnavailable, nil)
				r.pass(1)
				r.ask(t.Context(), "things/one", http.StatusOK, nil)
				r.ask(t.Context(), path, http.StatusOK, nil)
			}
			r.was(1000, unknown)
		})
	}
}

// Agents lose their broker when this hub does, and need some time to reconnect to it.
func TestGapOfABroker(t *testing.T) {
	r := newRig(t)
	r.pass(100)
	r.Back("broker", time.Minute)
	r.was(1000, unknown, "the connection was never lost")

	r.Lost("broker")
	r.pass(1)
	r.lasts()
	r.Back("broker", time.Minute)
	r.was(1161, unknown)
	r.pass(2)
	r.clk.SetTime(r.clk.Now().Add(20 * time.Second))
	r.was(1161, unknown, "deadlines fire later after an outage of the broker than after a stop of the process")
	r.Lost("broker")
	r.lasts()
	r.Restart()
	r.Back("broker", 0)
	r.was(1123, unknown)
}

// The URL in a kubeconfig may have a path, if a proxy leads to several hubs: the paths of collections are below it.
func TestConnectionBelowAPath(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	for _, prefix := range []string{"", "/", "/k8s/clusters/c1", "/k8s//clusters/c1/"} {
		t.Run(prefix, func(t *testing.T) {
			status := http.StatusOK
			server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
				if request.URL.Path != path.Join("/", prefix, "/apis/x/v1/things") {
					response.WriteHeader(http.StatusTeapot)
					return
				}
				response.Header().Set("Content-Type", "application/json")
				response.WriteHeader(status)
				_, _ = response.Write([]byte(`{"apiVersion":"x/v1","kind":"ThingList","items":[]}`))
			}))
			defer server.Close()
			clk := clocktesting.NewFakePassiveClock(at(1000))
			connection := New(clk)
			config := &rest.Config{Host: server.URL + prefix}
			require.NoError(t, connection.Hear(config))
			client, err := dynamic.NewForConfig(config)
			require.NoError(t, err)
			list := func() error {
				_, err := client.Resource(things).List(t.Context(), metav1.ListOptions{Limit: 500})
				return err
			}
			connection.Restart()
			connection.WatchLost(things)
			clk.SetTime(at(1100))
			_, gap := connection.Look()
			require.Equal(t, at(1100), gap.End)
			require.NoError(t, list())
			_, gap = connection.Look()
			require.Equal(t, at(1000), gap.End, "the lost watch works again")

			connection.Optional(things)
			status = http.StatusForbidden
			require.Error(t, list())
			clk.SetTime(at(1300))
			require.Error(t, list())
			require.True(t, connection.Refused(things))
		})
	}
}

func TestConnectionNeedsAURL(t *testing.T) {
	require.ErrorContains(t, New(clocktesting.NewFakePassiveClock(time.Unix(0, 0))).Hear(&rest.Config{Host: "https://hub:port"}), "https://hub:port")
}
