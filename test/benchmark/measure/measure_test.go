package measure

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const page = `# HELP apiserver_request_total [STABLE] Counter of apiserver requests
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="work.open-cluster-management.io",resource="manifestworks",scope="resource",subresource="status",verb="PATCH",version="v1"} 300
apiserver_request_total{code="409",component="apiserver",dry_run="",group="work.open-cluster-management.io",resource="manifestworks",scope="resource",subresource="status",verb="PATCH",version="v1"} 2
apiserver_request_total{code="201",component="apiserver",dry_run="",group="work.open-cluster-management.io",resource="manifestworks",scope="resource",subresource="",verb="POST",version="v1"} 1e+02
apiserver_request_total{code="200",component="apiserver",dry_run="",group="work.open-cluster-management.io",resource="manifestworks",scope="cluster",subresource="",verb="WATCH",version="v1"} 7
apiserver_request_total{code="200",component="apiserver",dry_run="",group="coordination.k8s.io",resource="leases",scope="resource",subresource="",verb="GET",version="v1"} 55
# HELP apiserver_request_total_of_another nobody asked for it
# TYPE apiserver_request_total_of_another gauge
apiserver_request_total_of_another 1
# HELP go_memstats_alloc_bytes Number of bytes allocated and still in use.
# TYPE go_memstats_alloc_bytes gauge
go_memstats_alloc_bytes 1.234e+06
`

func TestParse(t *testing.T) {
	metrics, err := parse(strings.NewReader(page), "go_memstats_alloc_bytes", "apiserver_request_total", "missing")
	require.NoError(t, err)
	require.Len(t, metrics, 6)
	require.Equal(t, Metric{Name: "go_memstats_alloc_bytes", Labels: map[string]string{}, Value: 1.234e6}, metrics[0])

	_, err = parse(strings.NewReader("broken{ 1\n"), "broken")
	require.Error(t, err)
}

func TestServedRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/metrics", r.URL.Path)
		_, _ = w.Write([]byte(page))
	}))
	t.Cleanup(server.Close)
	requests, err := ServedRequests(t.Context(), server.Client(), server.URL)
	require.NoError(t, err)
	require.Equal(t, Requests{"PATCH manifestworks/status": 302, "POST manifestworks": 100}, requests)

	_, err = ServedRequests(t.Context(), server.Client(), "http://127.0.0.1:1")
	require.Error(t, err)
}

func TestRequestsMinus(t *testing.T) {
	require.Equal(t, Requests{"a": 2, "new": 1, "only earlier": -3},
		Requests{"a": 5, "same": 4, "new": 1}.Minus(Requests{"a": 3, "same": 4, "only earlier": 3}))
}

// The benchmark's own requests have the names that the API server has for them.
func TestCounter(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	counter := NewCounter()
	client := &http.Client{Transport: counter.Wrap(http.DefaultTransport)}
	for _, request := range [][2]string{
		{http.MethodPatch, "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks/web/status"},
		{http.MethodPost, "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks"},
		{http.MethodPut, "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/bench/placements/all/status"},
		{http.MethodGet, "/apis/work.open-cluster-management.io/v1/manifestworks?limit=500"},
		{http.MethodGet, "/apis/work.open-cluster-management.io/v1/manifestworks?watch=true"},
		{http.MethodPost, "/api/v1/namespaces"},
	} {
		made, err := http.NewRequestWithContext(t.Context(), request[0], server.URL+request[1], http.NoBody)
		require.NoError(t, err)
		response, err := client.Do(made)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	require.Equal(t, Requests{
		"PATCH manifestworks/status": 1, "POST manifestworks": 1, "PUT placements/status": 1, "LIST manifestworks": 1,
	}, counter.Requests())
}

func TestStatusField(t *testing.T) {
	const status = "Name:\tmanager\nVmPeak:\t  900 kB\nVmHWM:\t  123456 kB\nThreads:\t9\n"
	peak, err := statusField(strings.NewReader(status), "VmHWM")
	require.NoError(t, err)
	require.EqualValues(t, 123456<<10, peak)
	_, err = statusField(strings.NewReader(status), "VmRSS")
	require.ErrorContains(t, err, "VmRSS")
	_, err = statusField(strings.NewReader(status), "Threads")
	require.ErrorContains(t, err, "Threads")
}

// The clock of a process runs while it computes, and is finer than the 10 ms of /proc/<pid>/stat.
func TestCPUOfThisProcess(t *testing.T) {
	before, err := CPU(os.Getpid())
	require.NoError(t, err)
	began, after := time.Now(), before
	for after-before < time.Millisecond && time.Since(began) < 30*time.Second {
		after, err = CPU(os.Getpid())
		require.NoError(t, err)
	}
	require.GreaterOrEqual(t, after-before, time.Millisecond)
	require.Less(t, after-before, 10*time.Millisecond)

	_, err = CPU(1 << 22) // More than a process number may be.
	require.ErrorContains(t, err, "4194304")
	peak, err := PeakMemory(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, peak, int64(1<<20))
}
