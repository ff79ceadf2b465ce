package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestHandoverAbortAfterTheTrim: an abort after a cluster was trimmed. On that cluster, only the workload of the new revision is ready, and
// it stays until the recreated workload of the stable revision is ready. The other cluster returns to the workload that was kept.
func TestHandoverAbortAfterTheTrim(t *testing.T) {
	t.Parallel()
	f := newHanding(t)
	f.beginsBy(progressive(1, "60s", 0, abortAll), f.version("v1", deployment("v1")), deployment("v1"))
	kept := f.uids("c2")["Deployment v1"]

	f.roll(f.version("v2", deployment("v2")))
	f.runsOn("c1", "Deployment v1", "Deployment v2")
	f.runsOn("c2", "Deployment v1")
	f.ready(deployment("v2"), "c1")
	f.runsOn("c1", "Deployment v2")
	served := f.uids("c1")["Deployment v2"]
	f.runsOn("c2", "Deployment v1", "Deployment v2")

	f.misses(progressive(1, "1s", 0, abortAll), "c2")
	f.runsOn("c1", "Deployment v1", "Deployment v2")
	f.runsOn("c2", "Deployment v1")
	f.keeps()
	require.Equal(t, served, f.uids("c1")["Deployment v2"], "what served last is kept")
	require.Equal(t, kept, f.uids("c2")["Deployment v1"], "it is the same one")
	f.ready(deployment("v1"), "c1")
	f.aborted()
	f.runs("Deployment v1")
	f.neverCurrent("v2")
	require.LessOrEqual(t, f.mostInFlight("v2"), 1, "P4")
}

// The hub is killed after each of its writes: during a handover, and during an abort of the next handover (P4, P5).
func TestHandoverKilledAfterEveryWrite(t *testing.T) {
	t.Parallel()
	w := privateWorld(t, "handover")
	defer w.dieAfterEveryWrite(t)()
	f := newHandingIn(w, t)
	f.beginsBy(progressive(1, "60s", 0, abortAll), f.version("v1", deployment("v1")), deployment("v1"))

	f.roll(f.version("v2", deployment("v2")))
	f.runsOn("c1", "Deployment v1", "Deployment v2")
	f.runsOn("c2", "Deployment v1")
	f.keeps()
	f.ready(deployment("v2"))
	f.complete()
	f.runs("Deployment v2")
	before := f.uids("c1")["Deployment v2"]

	f.roll(f.version("v3", deployment("v3")))
	f.runsOn("c1", "Deployment v2", "Deployment v3")
	f.misses(progressive(1, "1s", 0, abortAll), "c1")
	f.aborted()
	f.runs("Deployment v2")
	require.Equal(t, before, f.uids("c1")["Deployment v2"], "it is the same one")
	f.neverCurrent("v3")
	for _, short := range f.clusters {
		require.NotContains(t, f.work(short).Annotations, workv1alpha1.AnnotationKeptRevision)
	}
	for _, version := range []string{"v2", "v3"} {
		require.LessOrEqual(t, f.mostInFlight(version), 1, "P4 for %s", version)
	}
}

// misses shortens the deadline, so that the rollout fails, once the agents of these clusters have reported what they applied. An agent
// whose work changes during the apply forgets the objects that it has just created.
func (f *handing) misses(strategy workv1alpha1.RolloutStrategy, clusters ...string) {
	f.t.Helper()
	for _, short := range clusters {
		f.reported(short, "what it applied", is(workv1.WorkApplied, "True", f.work(short).Generation))
	}
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref("p1", strategy)}
	})
}
