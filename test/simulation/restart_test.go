package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// A hub that is restarted, for example for an upgrade, reports a stalled rollout in the same words as before, so it writes nothing (P7).
func TestRestartOfWhatStandsStillWritesNothing(t *testing.T) {
	for name, play := range map[string]func(*World){
		"complete": func(*World) {},
		"aborted": func(w *World) {
			w.Report("c2", "v2", Hangs)
			w.Update("v2")
		},
		"complete but for a tolerated failure": func(w *World) {
			w.Edit("tolerates a failure", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{progressive("p1", 2, "30s", 1, true)}
			})
			w.Report("c2", "", Silent)
			w.Update("v2")
		},
		"halted by a rejection": func(w *World) {
			w.Edit("has no deadline", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{progressive("p1", 1, "None", 0, true)}
			})
			w.Refuse("c1", Denied)
			w.Update("v2")
		},
		"stalled": func(w *World) {
			w.Report("c2", "v2", Hangs)
			w.Update("v2")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWorld()
			w.Place("p1", []string{"c1", "c2", "c3"})
			w.Create("v1", progressive("p1", 2, "30s", 0, name != "stalled"))
			require.NoError(t, w.Settle(Forever))
			play(w)
			require.NoError(t, w.Settle(time.Hour))
			version, told, story := w.API.version, len(w.events), len(w.Story)
			w.Restart()
			require.NoError(t, w.Settle(time.Hour))
			require.Equal(t, version, w.API.version, "%s", strings.Join(w.Story[story:], "\n"))
			require.Len(t, w.events, told)
		})
	}
}
