package cloudevents

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	workfactory "open-cluster-management.io/api/client/work/informers/externalversions"
	worklisters "open-cluster-management.io/api/client/work/listers/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
)

const (
	worksAtRest = 500
	// bytesAtRest is the maximum memory of a work that is not being written, including the informer's copy. The template has 20 kB.
	bytesAtRest = 6 << 10
)

// heapInUse returns the size of the live heap after garbage collection.
func heapInUse() uint64 {
	var stats runtime.MemStats
	for range 3 { // Memory that a cleanup releases is freed by the next collection.
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// cached returns a lister of the controller's cache. As in the hub, an informer fills the cache.
func (r *rig) cached(ctx context.Context) worklisters.ManifestWorkLister {
	r.t.Helper()
	works := workfactory.NewSharedInformerFactory(r.Works(), 0).Work().V1().ManifestWorks()
	require.NoError(r.t, works.Informer().SetTransform(workcache.NewTransform()))
	go works.Informer().Run(ctx.Done())
	r.eventually("the informer has synced", works.Informer().HasSynced)
	return works.Lister()
}

// rollOut writes a version to all clusters, and makes their agents report everything that OCM's agents report.
func (r *rig) rollOut(lister worklisters.ManifestWorkLister, version int, write func(*workv1.ManifestWork)) {
	r.t.Helper()
	for i := range worksAtRest {
		work := owned(fleet.Cluster(i), "v1")
		work.Spec = fleet.Template(version)
		write(work)
		told := r.store.get(work.UID).DeepCopy()
		fleet.Answer(&told.Status, fleet.Succeeds, told.Generation, noon)
		r.wire.tell(r.t, told)
	}
	r.wire.forget()
	r.eventually("every report is in the cache", func() bool {
		works, err := lister.List(labels.Everything())
		require.NoError(r.t, err)
		for _, work := range works {
			if !confirmed(work) {
				return false
			}
		}
		return len(works) == worksAtRest
	})
	r.eventually("no timer looks after a work", func() bool {
		r.clock.Step(confirmAfter)
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		for _, record := range r.store.records {
			if record.write != nil {
				return false
			}
		}
		return true
	})
}

// A hub holds a template once, not once for each work. Of a report, it holds only the parts that it reads.
func TestMemoryAtRest(t *testing.T) {
	r := newRig(t, nil)
	lister := r.cached(t.Context())
	empty := heapInUse()
	atRest := func() float64 { return (float64(heapInUse()) - float64(empty)) / worksAtRest }

	r.rollOut(lister, 1, func(work *workv1.ManifestWork) { r.create(work) })
	first := atRest()
	t.Logf("%.0f bytes per work after the first rollout", first)
	require.Less(t, first, float64(bytesAtRest))

	r.clock.Step(time.Minute)
	r.rollOut(lister, 2, func(work *workv1.ManifestWork) {
		changed := copyOf(r.store.get(work.UID))
		changed.Spec = work.Spec
		_, err := r.cluster(work.Namespace).Update(t.Context(), changed, metav1.UpdateOptions{})
		require.NoError(t, err)
	})
	second := atRest()
	t.Logf("%.0f bytes per work after an update", second)
	require.Less(t, second, float64(bytesAtRest))
	r.store.contents.mu.Lock()
	defer r.store.contents.mu.Unlock()
	require.Len(t, r.store.contents.known, 1, "no work holds the first template any more")
}
