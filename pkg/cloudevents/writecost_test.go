package cloudevents

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
)

// writers makes the writes of a rollout, once for each cluster: a work is created, or gets another template.
type writers struct {
	*rig
	template [2]workv1.ManifestWorkSpec
}

func newWriters(t testing.TB) *writers {
	t.Helper()
	// A passive clock has no timers. The timers of a fake clock would count as part of a write.
	w := &writers{rig: newRig(t, nil, func(o *Options) { o.Clock = struct{ clock.PassiveClock }{o.Clock} })}
	for i := range w.template {
		w.template[i] = fleet.Template(i + 1)
	}
	return w
}

func (w *writers) create(i int) *workv1.ManifestWork {
	work := owned(fmt.Sprintf("cluster-%05d", i), "v1")
	work.Spec = w.template[0]
	created, err := w.cluster(work.Namespace).Create(w.t.Context(), work, metav1.CreateOptions{})
	require.NoError(w.t, err)
	return created
}

// change writes the second template to a work, as the controller does. The controller has the work from its cache, without a spec.
func (w *writers) change(known *workv1.ManifestWork) {
	work := &workv1.ManifestWork{ObjectMeta: *known.ObjectMeta.DeepCopy(), Spec: w.template[1]}
	_, err := w.cluster(work.Namespace).Update(w.t.Context(), work, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// relabel changes the metadata only.
func (w *writers) relabel(known *workv1.ManifestWork) {
	_, err := w.patch(known, `{"metadata":{"labels":{"a":"b"}}}`)
	require.NoError(w.t, err)
}

// cost returns the average allocations of n writes.
func cost(n int, write func(i int)) (bytes, objects float64) {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	for i := range n {
		write(i)
	}
	goruntime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / float64(n), float64(after.Mallocs-before.Mallocs) / float64(n)
}

// Writing another template to a work costs no more than creating a work. Neither write copies, encodes or checks a template that the hub
// already holds.
func TestWritesHandleATemplateOnce(t *testing.T) {
	const n = 200
	// same is the factor by which two measurements may differ.
	const same = 1.2
	const template = 100_000
	w := newWriters(t)
	for i := range w.template { // Far more than all other allocations of a write, even with the race detector.
		large := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large","namespace":"default"},"data":{"x":"` + strings.Repeat("x", template) + `"}}`
		manifest := workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(large)}}
		w.template[i].Workload.Manifests = append(w.template[i].Workload.Manifests, manifest)
	}
	created := make([]*workv1.ManifestWork, n)
	w.change(w.create(n)) // Both templates are known.
	createBytes, createObjects := cost(n, func(i int) { created[i] = w.create(i) })
	changeBytes, changeObjects := cost(n, func(i int) { w.change(created[i]) })
	t.Logf("a create allocates %.0f bytes in %.0f objects, a change %.0f in %.0f", createBytes, createObjects, changeBytes, changeObjects)
	require.Less(t, changeBytes, same*createBytes)
	require.Less(t, changeObjects, same*createObjects)
	require.Less(t, createBytes, float64(template))
	require.Less(t, changeBytes, float64(template))

	for i := range created {
		created[i] = w.store.get(created[i].UID)
	}
	relabelBytes, relabelObjects := cost(n, func(i int) { w.relabel(created[i]) })
	t.Logf("a change to labels %.0f bytes in %.0f objects", relabelBytes, relabelObjects)
	require.Less(t, relabelBytes, 2.0*template, "a template would be decoded and encoded in some 750 kB")
}
