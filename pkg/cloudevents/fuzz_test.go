package cloudevents

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

const (
	// fuzzPatience is the time limit for one input: a thousand times the usual time, to allow for a busy machine.
	fuzzPatience = 2 * time.Second
	// fuzzBytes and fuzzFactor limit the allocation for one input: fuzzBytes plus fuzzFactor times its size.
	fuzzBytes, fuzzFactor = 1 << 20, 64
)

// spend runs a function, and fails if it exceeds the time or the allocation allowed for an input of the given size.
func spend(t *testing.T, size int, do func()) {
	t.Helper()
	began := time.Now()
	spent := allocated(do)
	require.Less(t, time.Since(began), fuzzPatience)
	require.Less(t, spent, uint64(fuzzBytes+fuzzFactor*size), "for %d bytes", size)
}

// Merging any two reports takes time and memory in proportion to their size and keeps a bounded status. Merging the second report again
// changes nothing (P7).
func FuzzMergeStatus(f *testing.F) {
	f.Add([]byte(`{"conditions":[{"type":"Applied","status":"True","observedGeneration":5}]}`),
		[]byte(`{"conditions":[{"type":"Available","status":"True","observedGeneration":5}]}`), int64(5), 1)
	made := payload.ManifestBundleStatus{Conditions: newTypes(0, 5)[:50]}
	data, err := json.Marshal(&made)
	require.NoError(f, err)
	f.Add(data, []byte(`{"resourceStatus":[{"resourceMeta":{"ordinal":1},"conditions":[{"type":"Degraded","status":"True"}]}]}`), int64(5), 0)
	f.Fuzz(func(t *testing.T, first, second []byte, generation int64, manifests int) {
		work := &workv1.ManifestWork{}
		work.Spec.Workload.Manifests = make([]workv1.Manifest, min(max(manifests, 0), 100))
		most := mostManifests(work)
		status := workv1.ManifestWorkStatus{}
		for _, data := range [][]byte{first, second, second} {
			told := payload.ManifestBundleStatus{}
			if json.Unmarshal(data, &told) != nil {
				return
			}
			report := workv1.ManifestWorkStatus{
				Conditions: told.Conditions, ResourceStatus: workv1.ManifestResourceStatus{Manifests: told.ResourceStatus},
			}
			spend(t, len(first)+len(second), func() { status = mergeStatus(&status, &report, generation, most) })
			require.LessOrEqual(t, len(status.Conditions), len(readConditions)+maxOtherConditions)
			require.LessOrEqual(t, len(status.ResourceStatus.Manifests), most)
			for i := range status.ResourceStatus.Manifests {
				require.LessOrEqual(t, len(status.ResourceStatus.Manifests[i].Conditions), 2)
			}
		}
	})
}

// For any event, the gate takes time and memory in proportion to the size of the event. It admits only events of the topic's cluster.
func FuzzGate(f *testing.F) {
	f.Add("io.open-cluster-management.works.v1alpha1.manifestbundles.status.update_request", "c1", string(workUID("c1", "web")),
		`{"name":"web","namespace":"c1"}`, "1", []byte(`{}`))
	f.Add("io.open-cluster-management.works.v1alpha1.manifestbundles.spec.resync_request", "c1", "", "", "", []byte(`{}`))
	f.Add("a.b.c", "c2", "x", `{"name":{}}`, "00000000000000000000000000000001", []byte(nil))
	f.Fuzz(func(t *testing.T, kind, cluster, id, meta, sequence string, data []byte) {
		event := cloudevents.NewEvent()
		event.SetType(kind)
		event.SetSource("agent")
		for name, value := range map[string]string{
			eventtypes.ExtensionClusterName: cluster, eventtypes.ExtensionResourceID: id, eventtypes.ExtensionWorkMeta: meta,
			eventtypes.ExtensionStatusUpdateSequenceID: sequence,
		} {
			event.SetExtension(name, value)
		}
		if event.SetData(cloudevents.ApplicationJSON, data) != nil {
			return
		}
		g := &gate{
			clock: clocktesting.NewFakePassiveClock(noon),
			clusterOf: func(uid types.UID) string {
				if uid == workUID("c2", "web") {
					return "c2"
				}
				return ""
			},
		}
		spend(t, len(kind)+len(cluster)+len(id)+len(meta)+len(sequence)+len(data), func() {
			from, named := namedCluster(withSender(t.Context(), "c1"), &event)
			if !named {
				return
			}
			if asks, why := g.judge(from, &event); why == "" {
				require.Equal(t, "c1", from)
				require.Equal(t, "c1", cluster)
				require.True(t, asks || types.UID(id) != workUID("c2", "web"), fmt.Sprintf("%q", id))
			}
		})
	})
}
