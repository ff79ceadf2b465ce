package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
)

// onClusters returns each cluster's work, its number of writes, and the version of its object on the cluster. A hub that only takes over
// must not change any of these.
func (f *realFleet) onClusters() map[string]string {
	f.t.Helper()
	found := map[string]string{}
	for _, work := range f.works() {
		require.NotContains(f.t, found, "work "+work.Namespace, "a cluster has two works")
		found["work "+work.Namespace] = fmt.Sprintf("%s (%s), generation %d", work.Name, work.UID, work.Generation)
	}
	for _, short := range f.clusters {
		object, err := f.kube[short].CoreV1().ConfigMaps("default").Get(f.t.Context(), "demo", metav1.GetOptions{})
		require.NoError(f.t, err)
		found["object on "+short] = object.ResourceVersion
	}
	return found
}

// OCM's own hub rolls out, and is replaced during a rollout that fails. This hub takes over without changing a cluster, and aborts once a
// user has named the stable version. Then OCM's hub takes over again, and this hub once more, without an effect on the clusters. Finally,
// OCM's hub rolls out a version, and this hub does not keep the version that was stable before.
func TestTakingOverFromUpstreamAndBack(t *testing.T) {
	t.Parallel()
	f := newRealClusters(t, "takeover")
	ctx := context.WithoutCancel(t.Context())

	stop := f.w.startUpstream(ctx)
	f.createOf(realTemplate("v1", true), ref("p1", progressive(1, "60s", 0, abortAll)))
	eventually(t, "upstream completes v1", func() error {
		// OCM's hub also reports complete before there is any decision.
		if found := f.get(); found.Status.Summary.Available < 2 ||
			!meta.IsStatusConditionTrue(found.Status.Conditions, workv1alpha1.ConditionPlacementRolledOut) {
			return fmt.Errorf("%s", describe(found))
		}
		return nil
	})
	// OCM's hub would accept the old success under the new generation, and continue with c2. So it gets no report from c1.
	unheard := f.taps["c1"].hold(reports(func(*workv1.ManifestWorkStatus) bool { return true }))
	f.roll("v2", false)
	f.deploys(map[string]string{"c1": "v2", "c2": "v1"})
	stop()
	unheard.release()
	eventually(t, "c1 reports v2 as stuck", func() error {
		if status := f.work("c1").Status; !is(workv1.WorkApplied, metav1.ConditionTrue, 2)(&status) || !is(workv1.WorkProgressing, metav1.ConditionTrue, 2)(&status) {
			return fmt.Errorf("it reports %+v", status.Conditions)
		}
		return nil
	})

	before := f.onClusters()
	stop = f.w.startManager(ctx, controller.DefaultSuccessSettle)
	taken := f.rolling("NewRevisionCreated")
	eventually(t, "both works bear a hash", func() error {
		for _, work := range f.works() {
			if work.Labels[workv1alpha1.LabelControllerHash] == "" {
				return fmt.Errorf("%s bears none", work.Namespace)
			}
		}
		return nil
	})
	require.Equal(t, before, f.onClusters(), "nothing was written to a cluster")
	require.Len(t, f.revisions(), 2)
	require.Empty(t, taken.Status.CurrentRevision, "one cluster of two does not decide what a fleet goes back to")
	stable := f.work("c2").Labels[workv1alpha1.LabelControllerHash]
	require.NotEqual(t, taken.Status.UpdateRevision, stable)
	f.editStatus(func(status *workv1alpha1.ManifestWorkReplicaSetStatus) { status.CurrentRevision = stable })
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.PlacementRefs[0].RolloutStrategy = progressive(1, "8s", 0, abortAll)
	})
	f.aborted()
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
	f.roll("v3", true)
	f.complete()
	f.deploys(map[string]string{"c1": "v3", "c2": "v3"})
	f.quiet()
	stop()

	before = f.onClusters()
	known := f.get().Status
	stop = f.w.startUpstream(ctx)
	always(t, "upstream leaves the clusters alone", 3*time.Second, func() error {
		if found := f.onClusters(); fmt.Sprint(found) != fmt.Sprint(before) {
			return fmt.Errorf("%v, before %v", found, before)
		}
		return nil
	})
	stop()
	require.Len(t, f.revisions(), 3, "the history outlives the downgrade")

	stop = f.w.startManager(ctx, controller.DefaultSuccessSettle)
	back := f.complete()
	f.quiet()
	require.Equal(t, before, f.onClusters(), "nothing was written to a cluster")
	require.Equal(t, known.CurrentRevision, back.Status.CurrentRevision)
	require.Equal(t, known.UpdateRevision, back.Status.UpdateRevision)
	require.Len(t, f.revisions(), 3)
	stop()

	// The works that OCM's hub rolls out have no marks of this hub. So this hub knows that v3 was replaced, and takes over v4 as it is.
	stop = f.w.startUpstream(ctx)
	f.roll("v4", true)
	f.deploys(map[string]string{"c1": "v4", "c2": "v4"})
	for _, work := range f.works() {
		require.Empty(t, work.Labels[workv1alpha1.LabelControllerHash])
		require.Empty(t, work.Annotations)
	}
	stop()
	generations := map[string]int64{}
	for _, work := range f.works() {
		generations[work.Namespace] = work.Generation
	}

	t.Cleanup(f.w.startManager(ctx, controller.DefaultSuccessSettle))
	eventually(t, "v4 is the current revision", func() error {
		found := f.get()
		if current := found.Status.CurrentRevision; current == "" || current == known.CurrentRevision || current != found.Status.UpdateRevision {
			return fmt.Errorf("%s", describe(found))
		}
		return nil
	})
	f.complete()
	f.quiet()
	for _, work := range f.works() {
		require.Equal(t, generations[work.Namespace], work.Generation, "nothing was written to a cluster")
	}
	decided := f.ledger()
	require.Equal(t, f.hash("v4"), decided.Current.Hash)
	require.False(t, decided.WasCurrent(known.CurrentRevision), "an abort does not return to what the other hub left")
}

// The hub of OCM 1.3 lets the API server generate the end of a work's name. Its works are adopted under their present names: nothing is
// written to a cluster, and rollout, abort and deletion continue with the same works.
func TestTakingOverGeneratedNames(t *testing.T) {
	t.Parallel()
	f := newRealClusters(t, "generated")
	ctx := context.WithoutCancel(t.Context())
	f.createOf(realTemplate("v1", true), ref("p1", progressive(1, "8s", 0, abortAll)))
	for _, cluster := range f.clusterNamespaces() {
		work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{GenerateName: f.name, Labels: map[string]string{
			workv1alpha1.LabelReplicaSet: workv1alpha1.OwnerLabelValue(f.namespace, f.name), workv1alpha1.LabelPlacement: "p1",
		}}, Spec: realTemplate("v1", true)}
		_, err := f.w.works.WorkV1().ManifestWorks(cluster).Create(t.Context(), work, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})

	before, names := f.onClusters(), f.workNames()
	t.Cleanup(f.w.startManager(ctx, controller.DefaultSuccessSettle))
	require.NotEmpty(t, f.complete().Status.CurrentRevision)
	f.quiet()
	require.Equal(t, before, f.onClusters(), "nothing was written to a cluster")

	f.roll("v2", false)
	f.aborted()
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
	f.roll("v3", true)
	f.complete()
	f.deploys(map[string]string{"c1": "v3", "c2": "v3"})
	require.Equal(t, names, f.workNames())
}

// workNames returns the names and UIDs of the works, by cluster namespace.
func (f *realFleet) workNames() map[string]string {
	f.t.Helper()
	names := map[string]string{}
	for _, work := range f.works() {
		require.NotContains(f.t, names, work.Namespace, "a cluster has two works")
		names[work.Namespace] = fmt.Sprintf("%s (%s)", work.Name, work.UID)
	}
	return names
}
