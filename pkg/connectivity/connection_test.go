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

// A collection is told from another one by where the API server lists it, that of the core group too.
func TestSourceOf(t *testing.T) {
	require.Equal(t, source("/apis/x/v1/things"), sourceOf(things))
	require.Equal(t, source("/api/v1/pods"), sourceOf(schema.GroupVersionResource{Version: "v1", Resource: "pods"}))
}

// While the API server can't be heard no deadline fires, and the grace begins when it is back (R11).
func TestConnectionKnowsSinceWhenItHears(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	connection := New(clk)
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	var answer *http.Response
	var failure error
	transport := connection.under("")(roundTripperFunc(func(*http.Request) (*http.Response, error) { return answer, failure }))
	url := "http://hub/apis/x/v1/things/one"
	ask := func(ctx context.Context, status int, err error) {
		answer, failure = &http.Response{StatusCode: status, Body: http.NoBody}, err
		request, newErr := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		require.NoError(t, newErr)
		response, gotErr := transport.RoundTrip(request)
		require.Equal(t, err, gotErr)
		require.NoError(t, response.Body.Close())
	}
	ctx := t.Context()

	clk.SetTime(at(1100))
	ask(ctx, http.StatusOK, nil)
	require.Equal(t, at(1000), connection.Since())

	ask(ctx, 0, errors.New("connection refused"))
	clk.SetTime(at(1200))
	require.Equal(t, at(1200), connection.Since(), "it is down: no time has passed yet")
	ask(ctx, http.StatusServiceUnavailable, nil)
	clk.SetTime(at(1300))
	ask(ctx, http.StatusNotFound, nil)
	clk.SetTime(at(1400))
	require.Equal(t, at(1300), connection.Since(), "since the first answer, whatever it was")

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	ask(cancelled, 0, context.Canceled)
	require.Equal(t, at(1300), connection.Since(), "we hung up ourselves")

	// An informer that could not watch shows a past until it can again, whatever else is heard.
	url = "http://hub/apis/x/v1/things?watch=true"
	ask(ctx, 0, errors.New("connection refused"))
	url = "http://hub/apis/x/v1/others?limit=500"
	ask(ctx, http.StatusOK, nil)
	url = "http://hub/apis/x/v1/things/one"
	ask(ctx, http.StatusOK, nil)
	clk.SetTime(at(1500))
	require.Equal(t, at(1500), connection.Since(), "the things are not heard yet")
	url = "http://hub/apis/x/v1/things?limit=500"
	ask(ctx, http.StatusForbidden, nil)
	require.Equal(t, at(1500), connection.Since(), "a server that starts refuses it")
	ask(ctx, http.StatusOK, nil)
	clk.SetTime(at(1600))
	require.Equal(t, at(1500), connection.Since())

	// The watch was answered, and then told that its version is too old.
	url = "http://hub/apis/x/v1/things?watch=true"
	connection.WatchLost(things)
	require.Equal(t, at(1600), connection.Since())
	clk.SetTime(at(1700))
	ask(ctx, http.StatusOK, nil)
	clk.SetTime(at(1800))
	require.Equal(t, at(1700), connection.Since())

	// A collection that a hub can do without is refused permanently: that is no connection that is down.
	connection.Optional(extras)
	url = "http://hub/apis/x/v1/extras?limit=500"
	ask(ctx, http.StatusForbidden, nil)
	require.False(t, connection.Refused(extras), "it may be a server that starts")
	clk.SetTime(at(1805))
	require.Equal(t, at(1805), connection.Since())
	clk.SetTime(at(1820))
	ask(ctx, http.StatusForbidden, nil)
	connection.WatchLost(extras)
	clk.SetTime(at(1900))
	require.True(t, connection.Refused(extras))
	require.Equal(t, at(1820), connection.Since())
	ask(ctx, http.StatusOK, nil)
	require.False(t, connection.Refused(extras))
	url = "http://hub/apis/x/v1/things?limit=500"
	ask(ctx, http.StatusForbidden, nil)
	clk.SetTime(at(2000))
	ask(ctx, http.StatusForbidden, nil)
	require.False(t, connection.Refused(things), "nothing goes without the things")
	require.Equal(t, at(2000), connection.Since())

	clk.SetTime(at(1400))
	connection.Restart()
	require.Equal(t, at(1400), connection.Since())
}

// One request that fails now and then, while others succeed, is no outage: it must not switch every deadline off (R11).
func TestConnectionSurvivesSingleFailures(t *testing.T) {
	const write, list = "http://hub/apis/x/v1/things/one", "http://hub/apis/x/v1/things?watch=true"
	for name, url := range map[string]string{"a write": write, "a watch": list} {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
			connection := New(clk)
			status := http.StatusOK
			transport := connection.under("")(roundTripperFunc(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Body: http.NoBody}, nil
			}))
			ask := func(url string, answer int) {
				status = answer
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
				require.NoError(t, err)
				response, err := transport.RoundTrip(request)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
			}
			pass := func(d time.Duration) { clk.SetTime(clk.Now().Add(d)) }
			for range 10 {
				pass(2 * time.Minute)
				ask(url, http.StatusServiceUnavailable)
				pass(time.Second)
				ask(write, http.StatusOK)
				ask(url, http.StatusOK)
			}
			require.Equal(t, time.Unix(1000, 0), connection.Since())

			ask(url, http.StatusServiceUnavailable)
			pass(outage)
			require.Equal(t, clk.Now(), connection.Since(), "nothing has succeeded for some seconds")
			ask(url, http.StatusServiceUnavailable)
			pass(time.Second)
			ask(url, http.StatusOK)
			back := clk.Now()
			pass(time.Minute)
			require.Equal(t, back, connection.Since(), "after an outage the agents get time to report")
		})
	}
}

// Agents lose their broker when this hub does, and need some time to find it again (R11).
func TestConnectionWaitsForThoseWhoReport(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	clk := clocktesting.NewFakePassiveClock(at(1000))
	connection := New(clk)
	clk.SetTime(at(1100))
	connection.Back("broker", time.Minute)
	require.Equal(t, at(1000), connection.Since(), "it was never lost")

	connection.Lost("broker")
	clk.SetTime(at(1200))
	require.Equal(t, at(1200), connection.Since())
	connection.Back("broker", time.Minute)
	require.Equal(t, at(1260), connection.Since())
	connection.Lost("broker")
	require.Equal(t, at(1200), connection.Since(), "it is down: no time has passed yet")
	clk.SetTime(at(1210))
	connection.Back("broker", time.Minute)
	connection.Restart()
	require.Equal(t, at(1270), connection.Since(), "what happens elsewhere makes it no shorter")
	clk.SetTime(at(1300))
	connection.Restart()
	require.Equal(t, at(1300), connection.Since())
}

// A kubeconfig's URL may have a path, where a proxy leads to several hubs: collections have their own paths below it (R11).
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
			connection.WatchLost(things)
			clk.SetTime(at(1100))
			require.NoError(t, list())
			clk.SetTime(at(1200))
			require.Equal(t, at(1100), connection.Since(), "what was lost is heard again")

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
