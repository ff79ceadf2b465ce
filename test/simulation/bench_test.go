package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

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
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := fleetAtRest(b, n, all("p1", "1m", true))
			b.Run("quiet", func(b *testing.B) {
				for b.Loop() {
					w.pass(b)
				}
			})
			b.Run("decides-an-abort", w.abortDecisions)
		})
	}
}

// abortDecisions makes passes that decide an abort: every cluster has the new version, and one cluster failed. The ledger of such a pass is
// rejected before the first work is restored, so the next pass makes the same decision.
func (w *World) abortDecisions(b *testing.B) {
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
	for b.Loop() {
		_, _, _ = w.Hub.Sync(b.Context(), Namespace+"/"+Name)
	}
	require.Equal(b, b.N, refused, "each pass decides, and writes nothing else")
	w.Hub.Fault = nil
	require.NoError(b, w.Settle(Forever))
	require.NotNil(b, w.Object().Status.AbortedTime)
}
