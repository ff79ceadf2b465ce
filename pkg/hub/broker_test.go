package hub

import (
	"testing"

	"github.com/open-cluster-management-io/work-rollback/internal/worktest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/open-cluster-management-io/work-rollback/pkg/cloudevents"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
)

// Every kind of event that the driver sends, accepts or drops has a counter that starts at 0.
func TestEachEventIsCounted(t *testing.T) {
	reasons := make([]string, 0, len(cloudevents.Refusals))
	for _, refusal := range cloudevents.Refusals {
		reasons = append(reasons, string(refusal))
	}
	require.ElementsMatch(t, metrics.EventRefusals, reasons)
	require.ElementsMatch(t, metrics.EventsReceived, []string{cloudevents.ReceivedReport, cloudevents.ReceivedQuestion})
	sent := make([]string, 0, len(metrics.EventsSent))
	for _, action := range []eventtypes.EventAction{
		eventtypes.CreateRequestAction, eventtypes.UpdateRequestAction, eventtypes.DeleteRequestAction,
		eventtypes.ResyncResponseAction, eventtypes.ResyncRequestAction,
	} {
		sent = append(sent, string(action))
	}
	require.ElementsMatch(t, metrics.EventsSent, sent)
}

// The cache holds only those parts of a work that the controller reads, also over a broker.
func TestWorkInformerKeepsNoManifests(t *testing.T) {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "web"}}
	work.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"kind":"ConfigMap"}`)}}}
	informer, err := newWorkInformer(worktest.Client(work))
	require.NoError(t, err)
	go informer.Informer().RunWithContext(t.Context())
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), informer.Informer().HasSynced))
	cached, err := informer.Lister().ManifestWorks("c1").Get("web")
	require.NoError(t, err)
	require.Empty(t, cached.Spec.Workload.Manifests)
}
