package integration

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
	"github.com/open-cluster-management-io/work-rollback/test/internal/manager"
)

// The controller runs inside OCM's own manager. It uses OCM's informers, runs beside OCM's garbage collection, which reads whole works, and
// learns from OCM's clients whether the API server is reachable.
func TestControllerInsideOCMsManager(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "embedded")
	line := newLine(t, strings.TrimPrefix(w.plane.Host(), "https://"))
	options := hub.NewOptions()
	options.SuccessSettle = settle
	embedded := (&hub.Manager{Options: options, Clock: clock.RealClock{}}).Embedded()
	t.Cleanup(line.through(w).start(context.WithoutCancel(t.Context()), manager.Embedding(embedded)))

	f := newFleetIn(w, t, 3)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", progressive(1, "3s", 0, abortAll)))
	f.complete()
	f.abort(hangs)
	f.everywhere("v1")
	f.update("v3")
	f.complete()
	f.update("v1")
	f.complete()
	f.everywhere("v1")
	require.Equal(t, []string{"v2", "v3", "v1"}, f.recorded())
	f.quiet()
	for i := range f.clusters {
		require.NotEmpty(t, f.works()[i].Spec.Workload.Manifests)
	}

	w.collects(t, "collected")
	away(t, w, line.cut, line.mend)
}
