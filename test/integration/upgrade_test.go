package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/tools"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
	"github.com/open-cluster-management-io/work-rollback/test/internal/manager"
)

// recorded waits until the ConfigMap holds a version and its snapshots.
func (w *world) recorded(t *testing.T, version, snapshots string) {
	t.Helper()
	eventually(t, "version "+version+" is recorded", func() error {
		found, err := w.kube.CoreV1().ConfigMaps(sandbox.HubNamespace).Get(t.Context(), plan.ConfigMap, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if found.Data[plan.KeyVersion] != version || found.Data[plan.KeySnapshots] != snapshots {
			return fmt.Errorf("there is %v", found.Data)
		}
		return nil
	})
}

// says waits for an event, and returns its note.
func (w *world) says(t *testing.T, namespace, kind, reason string) (note string) {
	t.Helper()
	eventually(t, "the event "+reason, func() error {
		list, err := w.kube.EventsV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if event := &list.Items[i]; event.Reason == reason && event.Regarding.Kind == kind {
				note = event.Note
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(list.Items))
	})
	return note
}

// untouched returns the resource versions of the works and the revisions, which a change of the hub's version alone must not change.
func (f *fleet) untouched() map[string]string {
	f.t.Helper()
	found := map[string]string{}
	for _, work := range f.works() {
		require.NotContains(f.t, fmt.Sprint(work.Annotations, work.Labels), workv1alpha1.AnnotationSnapshotPrefix)
		found[work.Namespace] = work.ResourceVersion
	}
	for _, rev := range f.revisions() {
		found[rev.Name] = rev.ResourceVersion
	}
	return found
}

// startVersion runs a version of the hub in this process, as the leader of its replicas. The next version leads once stop has returned.
func (w *world) startVersion(t *testing.T, version string, wrappers ...func(http.RoundTripper) http.RoundTripper) (stop func()) {
	t.Helper()
	options := hub.NewOptions()
	options.SuccessSettle = settle
	stop = w.start(context.WithoutCancel(t.Context()), func(ctx context.Context, controllers *controllercmd.ControllerContext) error {
		controllers.OperatorNamespace = sandbox.HubNamespace
		return (&hub.Manager{Options: options, Clock: clock.RealClock{}, Version: version}).Run(ctx, controllers)
	}, wrappers...)
	t.Cleanup(stop)
	return stop
}

const snapshotOf900 = workv1alpha1.AnnotationSnapshotPrefix + "v9.0.0"

// The newer version leaves snapshots, and loses an abort. The older version restores the abort without writing to a cluster.
func TestHubGoesUpAndDown(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "updown")
	ctx := t.Context()
	require.NoError(t, w.fleet.Namespace(ctx, sandbox.HubNamespace))
	stop := w.startVersion(t, "v9.0.0")
	w.recorded(t, "v9.0.0", "")
	f := newFleetIn(w, t, 2)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", all("3s", 0, abortAll)))
	f.complete()
	aborted := f.abort(hangs)
	f.everywhere("v1")
	f.quiet()
	before := f.untouched()

	stop()
	stop = w.startVersion(t, "v9.1.0")
	w.recorded(t, "v9.1.0", "v9.0.0")
	require.Contains(t, f.get().Annotations, snapshotOf900)
	f.aborted()
	f.quiet()
	require.Equal(t, before, f.untouched(), "an annotation is no rollout")
	require.Equal(t, aborted.Generation, f.get().Generation)
	require.Contains(t, w.says(t, sandbox.HubNamespace, "ConfigMap", workv1alpha1.EventHubUpgraded), "1 snapshots of ManifestWorkReplicaSets were taken")

	stop()
	f.loses()
	generations := f.generations()
	w.startVersion(t, "v9.0.0")
	w.recorded(t, "v9.0.0", "")
	restored := f.aborted()
	require.True(t, aborted.Status.AbortedTime.Equal(restored.Status.AbortedTime))
	require.Equal(t, aborted.Status.CurrentRevision, restored.Status.CurrentRevision)
	require.Equal(t, aborted.Status.UpdateRevision, restored.Status.UpdateRevision)
	require.NotContains(t, restored.Annotations, snapshotOf900)
	require.Equal(t, []string{"v1", "v2"}, f.recorded())
	require.Contains(t, w.says(t, f.namespace, "ManifestWorkReplicaSet", workv1alpha1.EventSnapshotRestored), "restored its decisions about this object")
	f.everywhere("v1")
	f.quiet()
	require.Equal(t, generations, f.generations(), "no cluster noticed")
}

// loses simulates the damage that a newer version may do to an abort: it forgets the abort, and writes ledgers that this version can't
// read.
func (f *fleet) loses() {
	f.t.Helper()
	before := f.ledger()
	before.Format, before.Abort = ledger.Format+1, nil
	newer, err := before.Encode()
	require.NoError(f.t, err)
	f.editStatus(func(status *workv1alpha1.ManifestWorkReplicaSetStatus) {
		status.Ledger, status.AbortedTime, status.CurrentRevision = newer, nil, ""
	})
	for _, version := range []string{"v1", "v2"} {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, workv1alpha1.AnnotationLedger, newer)
		_, err := f.w.kube.AppsV1().ControllerRevisions(f.namespace).Patch(f.t.Context(), f.revisionOf(version).Name, types.MergePatchType, patch,
			metav1.PatchOptions{})
		require.NoError(f.t, err)
	}
}

// dies runs a version repeatedly, killing it after each of its writes, until the version is recorded. It returns the writes.
func (w *world) dies(t *testing.T, version string) (writes []string) {
	t.Helper()
	for range 50 {
		found, err := w.kube.CoreV1().ConfigMaps(sandbox.HubNamespace).Get(t.Context(), plan.ConfigMap, metav1.GetOptions{})
		require.NoError(t, err)
		if found.Data[plan.KeyVersion] == version {
			return writes
		}
		gate := &oneWrite{tales: new(int), written: make(chan struct{})}
		stop := w.startVersion(t, version, gate.wrap)
		soon(t, "a write of "+version, gate.written)
		stop()
		writes = append(writes, gate.what)
	}
	t.Fatalf("%s is not recorded after %v", version, writes)
	return nil
}

// If a version is killed after each write of its upgrade or downgrade, the next process continues, and reaches the same result (R36, R37,
// P5).
func TestVersionsKilledAfterEveryWrite(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "versionskilled")
	require.NoError(t, w.fleet.Namespace(t.Context(), sandbox.HubNamespace))
	stop := w.startVersion(t, "v9.0.0")
	f := newFleetIn(w, t, 2)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", all("3s", 0, abortAll)))
	f.complete()
	aborted := f.abort(hangs)
	f.quiet()
	stop()

	set := fmt.Sprintf("/apis/work.open-cluster-management.io/v1alpha1/namespaces/%s/manifestworkreplicasets/web", f.namespace)
	version := fmt.Sprintf("/api/v1/namespaces/%s/configmaps/%s", sandbox.HubNamespace, plan.ConfigMap)
	before := f.untouched()
	require.Equal(t, []string{"PATCH " + set, "PATCH " + version}, w.dies(t, "v9.1.0"))
	w.recorded(t, "v9.1.0", "v9.0.0")
	require.Contains(t, f.get().Annotations, snapshotOf900)
	require.Equal(t, before, f.untouched())

	f.loses()
	generations := f.generations()
	rev := fmt.Sprintf("PATCH /apis/apps/v1/namespaces/%s/controllerrevisions/", f.namespace)
	writes := w.dies(t, "v9.0.0")
	require.Len(t, writes, 5)
	require.Equal(t, "PATCH "+set+"/status", writes[0], "the status first, once")
	require.ElementsMatch(t, []string{rev + f.revisionOf("v1").Name, rev + f.revisionOf("v2").Name}, writes[1:3])
	require.Equal(t, []string{"PATCH " + set, "PATCH " + version}, writes[3:])
	w.startVersion(t, "v9.0.0")
	restored := f.aborted()
	require.True(t, aborted.Status.AbortedTime.Equal(restored.Status.AbortedTime))
	require.Equal(t, aborted.Status.CurrentRevision, restored.Status.CurrentRevision)
	require.Equal(t, []string{"v1", "v2"}, f.recorded())
	f.quiet()
	require.Equal(t, generations, f.generations(), "no cluster noticed")
}

// Replicas of two versions hand the lease to each other, and a user edits the template in between: the edit and its rollout stay.
// Everything also stays if a GitOps tool removes the annotation.
func TestLeaseBetweenVersions(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "lease")
	require.NoError(t, w.fleet.Namespace(t.Context(), sandbox.HubNamespace))
	stop := w.startVersion(t, "v9.0.0")
	w.recorded(t, "v9.0.0", "")
	f := newFleetIn(w, t, 2)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", all("60s", 0, abortAll)))
	f.complete()
	leads := func(version, snapshots string) {
		stop()
		stop = w.startVersion(t, version)
		w.recorded(t, version, snapshots)
	}

	leads("v9.1.0", "v9.0.0")
	f.agentsReport("c2", "v2", silent)
	f.update("v2")
	f.everywhere("v2")
	leads("v9.0.0", "")
	require.Equal(t, f.hash("v2"), f.get().Status.UpdateRevision, "what was decided since stays")
	require.NotContains(t, f.get().Annotations, snapshotOf900)
	leads("v9.1.0", "v9.0.0")
	f.agentsReport("c2", "v2", succeeds)
	f.complete()
	f.everywhere("v2")
	f.quiet()
	edited, before := f.get(), f.untouched()

	leads("v9.0.0", "")
	f.quiet()
	require.Equal(t, edited.Spec, f.get().Spec)
	require.Equal(t, edited.Status, f.get().Status)
	require.Equal(t, before, f.untouched())

	leads("v9.1.0", "v9.0.0")
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Annotations = nil })
	leads("v9.0.0", "")
	f.quiet()
	require.Equal(t, edited.Status, f.get().Status)
	require.Equal(t, before, f.untouched())
}

// A version without snapshots does not reconcile ManifestWorkReplicaSets, but still collects completed works. It continues when a user
// deletes the ConfigMap.
func TestDowngradeIsRefused(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "refused")
	ctx := t.Context()
	require.NoError(t, w.fleet.Namespace(ctx, sandbox.HubNamespace))
	maps := w.kube.CoreV1().ConfigMaps(sandbox.HubNamespace)
	_, err := maps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: plan.ConfigMap}, Data: map[string]string{plan.KeyVersion: "v9.9.0", plan.KeySnapshots: "v9.8.0,v9.7.0"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	if manager.Binary() != "" {
		t.Fatal(manager.NotWithABinary)
	}
	binary, err := tools.BuildRelease(ctx, t.TempDir(), "v9.0.0")
	require.NoError(t, err)
	process, err := sandbox.NewWorkHub(env.Group, binary, w.plane.APIServer, bothGates, "--success-settle=400ms")
	require.NoError(t, err)
	f := newFleetIn(w, t, 2)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", all("None", 0)))
	require.NoError(t, process.Start(ctx))
	t.Cleanup(func() { _ = process.Kill() })

	note := w.says(t, sandbox.HubNamespace, "ConfigMap", workv1alpha1.EventDowngradeRefused)
	require.Contains(t, note, "this hub is v9.0.0, version v9.9.0 ran last, and there are no snapshots of v9.0.0 to restore (there are snapshots of v9.8.0, v9.7.0)")
	require.Contains(t, note, "delete the ConfigMap "+plan.ConfigMap)
	w.collects(t, "collected")
	eventually(t, "the object says so", func() error {
		told := meta.FindStatusCondition(f.get().Status.Conditions, workv1alpha1.ConditionStalled)
		if told == nil || told.Reason != workv1alpha1.ReasonDowngradeRefused || !strings.Contains(told.Message, "delete the ConfigMap "+plan.ConfigMap) {
			return errors.New(describe(f.get()))
		}
		return nil
	})
	version := f.get().ResourceVersion
	always(t, "nothing is rolled out, and nothing written", 2*time.Second, func() error {
		if mwrs := f.get(); len(f.works()) > 0 || mwrs.ResourceVersion != version || len(mwrs.Finalizers) > 0 {
			return fmt.Errorf("%d works: %s", len(f.works()), describe(mwrs))
		}
		return nil
	})

	require.NoError(t, maps.Delete(ctx, plan.ConfigMap, metav1.DeleteOptions{}))
	require.Nil(t, meta.FindStatusCondition(f.complete().Status.Conditions, workv1alpha1.ConditionStalled))
	w.recorded(t, "v9.0.0", "")
}

// With the permissions of OCM's role and on ControllerRevisions, but none on the ConfigMap, the hub rolls out, and reports the missing
// permission. With the Role of deploy/, it records its version.
func TestVersionNeedsARight(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "versionright")
	require.NoError(t, w.fleet.Namespace(t.Context(), sandbox.HubNamespace))
	w.apply(t, controllerRevisions)
	for _, name := range []string{"clusterrole.yaml", "clusterrolebinding.yaml"} {
		w.apply(t, ocmManifest(t, "cluster-manager/hub/work/"+name))
	}
	user, err := w.plane.UserConfig("system:serviceaccount:"+sandbox.HubNamespace+":work-controller-sa", "system:serviceaccounts")
	require.NoError(t, err)
	theirs := *w
	theirs.config = unlimited(user)
	stop := theirs.startVersion(t, "v9.0.0")
	note := w.says(t, sandbox.HubNamespace, "ConfigMap", workv1alpha1.EventSnapshotsUnavailable)
	require.Contains(t, note, "apply this release's Role and binding (deploy/base)")
	f := newFleetIn(w, t, 2)
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", all("None", 0)))
	f.complete()
	stop()
	_, err = w.kube.CoreV1().ConfigMaps(sandbox.HubNamespace).Get(t.Context(), plan.ConfigMap, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))

	objects, err := deploy.Render()
	require.NoError(t, err)
	for _, object := range objects {
		if strings.HasPrefix(object.GetKind(), "Role") {
			content, err := yaml.Marshal(object.Object)
			require.NoError(t, err)
			w.apply(t, string(content))
		}
	}
	stop = theirs.startVersion(t, "v9.0.0")
	w.recorded(t, "v9.0.0", "")
	stop()
	stop = theirs.startVersion(t, "v9.1.0")
	w.recorded(t, "v9.1.0", "v9.0.0")
	require.Contains(t, f.get().Annotations, snapshotOf900)
	f.complete()
	stop()
	theirs.startVersion(t, "v9.0.0")
	w.recorded(t, "v9.0.0", "")
	f.complete()
	require.Empty(t, f.get().Annotations)
}
