package hub

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics/legacyregistry"
)

// The endpoint reports the metrics of the queue and of the requests to the API server, in addition to our own.
func TestQueueAndRequestMetricsAreServed(t *testing.T) {
	NewManagerCommand()
	NewManagerCommand() // A second command in the process does not register a metric twice.

	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "served"})
	queue.Add("default/web")
	queue.ShutDown()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	_, err = client.CoreV1().Namespaces().Get(t.Context(), "nothing", metav1.GetOptions{})
	require.Error(t, err)

	answer := httptest.NewRecorder()
	legacyregistry.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, wanted := range []string{
		`workqueue_depth{name="served"}`, `workqueue_queue_duration_seconds_count{name="served"}`,
		`rest_client_requests_total{code="404"`, "mwrs_controller_running 0", "# TYPE mwrs_work_writes_total counter",
	} {
		require.Contains(t, answer.Body.String(), wanted)
	}
}
