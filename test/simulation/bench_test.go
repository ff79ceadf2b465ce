package simulation

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

var fleetSizes = []int{1000, 10000}

// fleetAtRest is a world in which n clusters have version v1, and the hub has nothing to do.
func fleetAtRest(b *testing.B, n int, ref workv1alpha1.LocalPlacementReference) *World {
	b.Helper()
	w := NewWorld()
	clusters := make([]string, 0, n)
	for i := range n {
		clusters = append(clusters, fmt.Sprintf("c%05d", i))
	}
	w.Place(ref.Name, clusters)
	w.Create("v1", ref)
	w.rest(b)
	require.Len(b, w.Works(), n)
	return w
}

// rest lets a healthy fleet come to rest. It is Settle without the checks of each pass, whose cost grows with the square of the fleet.
func (w *World) rest(b *testing.B) {
	b.Helper()
	for {
		acted, next := w.stepAgents()
		w.Hub.Observe(w.Hub.Behind())
		again, _, err := w.Hub.Sync(b.Context(), Namespace+"/"+Name)
		require.NoError(b, err)
		if again > 0 {
			next = earliest(next, w.Clock.Now().Add(again))
		}
		switch {
		case acted || w.Hub.Behind() > 0:
		case next.IsZero():
			return
		default:
			w.Clock.SetTime(next)
		}
	}
}

// perWork runs passes, and reports the cost of a pass per work. The time of before is not counted.
func perWork(b *testing.B, n int, before, pass func()) {
	b.Helper()
	var objects, bytes uint64
	var at, after runtime.MemStats
	b.ResetTimer()
	for b.Loop() {
		b.StopTimer()
		before()
		runtime.ReadMemStats(&at)
		b.StartTimer()
		pass()
		b.StopTimer()
		runtime.ReadMemStats(&after)
		objects, bytes = objects+after.Mallocs-at.Mallocs, bytes+after.TotalAlloc-at.TotalAlloc
		b.StartTimer()
	}
	passes := float64(b.N) * float64(n)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/passes, "ns/work")
	b.ReportMetric(float64(objects)/passes, "objects/work")
	b.ReportMetric(float64(bytes)/passes, "B/work")
}

// pass runs a quiet pass, which writes nothing (P7).
func (w *World) pass(b *testing.B) {
	b.Helper()
	version := w.API.version
	if _, _, err := w.Hub.Sync(b.Context(), Namespace+"/"+Name); err != nil {
		b.Fatal(err)
	}
	if w.API.version != version {
		b.Fatal("the pass wrote something")
	}
}

// BenchmarkPass measures one pass of the controller without the API server.
func BenchmarkPass(b *testing.B) {
	for _, n := range fleetSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := fleetAtRest(b, n, all("p1", "1m", true))
			b.Run("quiet", func(b *testing.B) { perWork(b, n, func() {}, func() { w.pass(b) }) })
			b.Run("after-a-report", func(b *testing.B) { w.passesAfterReports(b, n) })
			b.Run("decides-an-abort", func(b *testing.B) { w.abortDecisions(b, n) })
		})
	}
}

// passesAfterReports makes passes over a fleet at rest. Before each pass, one agent repeats its report.
func (w *World) passesAfterReports(b *testing.B, n int) {
	b.Helper()
	reports := 0
	perWork(b, n, func() {
		reports++
		w.reportAgain(reports%n, fmt.Sprintf("report %d", reports))
	}, func() { w.pass(b) })
}

// abortDecisions makes passes that decide an abort: every cluster has the new version, and one cluster failed. The ledger of such a pass is
// rejected before the first work is restored, so the next pass makes the same decision.
func (w *World) abortDecisions(b *testing.B, n int) {
	b.Helper()
	version := fmt.Sprintf("v%d", len(w.Revisions())+1) // -count runs this again.
	w.Report("c00000", version, Hangs)
	w.Update(version)
	require.NoError(b, w.Settle(30*time.Second))
	w.Clock.Step(time.Minute)
	refused := 0
	w.Hub.Fault = func(string) Fault {
		refused++
		return Refused
	}
	perWork(b, n, func() {}, func() { _, _, _ = w.Hub.Sync(b.Context(), Namespace+"/"+Name) })
	require.Equal(b, b.N, refused, "each pass decides, and writes nothing else")
	w.Hub.Fault = nil
	require.NoError(b, w.Settle(Forever))
	require.NotNil(b, w.Object().Status.AbortedTime)
}

// reportAgain changes a message in the status of the work of a cluster.
func (w *World) reportAgain(cluster int, message string) {
	namespace := fmt.Sprintf("c%05d", cluster)
	object, err := w.API.Get(Works, namespace, Name)
	if err != nil {
		panic(err)
	}
	status := as[workv1.ManifestWork](w.API, object).Status
	status.Conditions[0].Message = message
	w.patch(Works, namespace, Name, map[string]any{"status": status}, true)
	w.Hub.Observe(w.Hub.Behind())
}

// BenchmarkGreedyPass measures one pass over an object with the maximum number of placementRefs, each of which selects every cluster.
func BenchmarkGreedyPass(b *testing.B) {
	for _, n := range []int{300, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := NewWorld()
			clusters := make([]string, 0, n)
			for i := range n {
				clusters = append(clusters, fmt.Sprintf("c%05d", i))
			}
			var refs []workv1alpha1.LocalPlacementReference
			for i := range workv1alpha1.MaxPlacementRefs {
				ref := all(fmt.Sprintf("p%02d", i), "1m", true)
				w.Place(ref.Name, clusters)
				refs = append(refs, ref)
			}
			w.Create("v1", refs...)
			require.NoError(b, w.Settle(Forever))
			b.Run("quiet", func(b *testing.B) { perWork(b, n, func() {}, func() { w.pass(b) }) })
			b.Run("after-a-report", func(b *testing.B) { w.passesAfterReports(b, n) })
		})
	}
}
