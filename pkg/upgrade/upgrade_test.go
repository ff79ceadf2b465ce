package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	kubeevents "k8s.io/client-go/tools/events"
	k8smetrics "k8s.io/component-base/metrics"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

const hubNamespace = "open-cluster-management-hub"

// world is an API server with some ManifestWorkReplicaSets, each with a revision.
type world struct {
	t        *testing.T
	dynamic  *dynamicfake.FakeDynamicClient
	kube     *kubefake.Clientset
	recorder *kubeevents.FakeRecorder
	metrics  *metrics.Metrics
	registry k8smetrics.KubeRegistry
	clock    *clocktesting.FakeClock

	mu sync.Mutex
	// writes are the requests that the API server took, in order.
	writes []string
	// refuse returns what the API server answers a write instead of taking it; nil for taking all.
	refuse func(write string) error
}

func newWorld(t *testing.T, names ...string) *world {
	t.Helper()
	w := &world{
		t: t, recorder: kubeevents.NewFakeRecorder(1000), metrics: metrics.New(),
		clock: clocktesting.NewFakeClock(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)),
	}
	var sets, revisions []runtime.Object
	for _, name := range names {
		set := replicaSet(name)
		rev, err := revision.New(set, &set.Spec.ManifestWorkTemplate, set.Status.UpdateRevision, 1)
		require.NoError(t, err)
		rev.UID = types.UID("rev-" + name)
		rev.Annotations[workv1alpha1.AnnotationCurrentSince] = "2026-01-01T00:00:00Z"
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
		require.NoError(t, err)
		sets, revisions = append(sets, &unstructured.Unstructured{Object: content}), append(revisions, rev)
	}
	w.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{workv1alpha1.ManifestWorkReplicaSetResource: "ManifestWorkReplicaSetList"}, sets...)
	w.kube = kubefake.NewClientset(revisions...)
	for _, fake := range []*clienttesting.Fake{&w.dynamic.Fake, &w.kube.Fake} {
		fake.PrependReactor("*", "*", w.react)
	}
	w.registry = k8smetrics.NewKubeRegistry()
	require.NoError(t, w.metrics.Register(w.registry))
	return w
}

func replicaSet(name string) *workv1alpha1.ManifestWorkReplicaSet {
	m := workv1.Manifest{}
	m.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q}}`, name)
	set := &workv1alpha1.ManifestWorkReplicaSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: workv1alpha1.SchemeGroupVersion.String(), Kind: "ManifestWorkReplicaSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Generation: 3},
	}
	set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{m}
	hash := revision.ComputeHash(&set.Spec.ManifestWorkTemplate, nil)
	set.Status.UpdateRevision, set.Status.CurrentRevision = hash, hash
	return set
}

// react notes writes, and refuses some of them.
func (w *world) react(action clienttesting.Action) (bool, runtime.Object, error) {
	if verb := action.GetVerb(); verb == "list" || verb == "watch" {
		return false, nil, nil
	}
	what := action.GetVerb() + " " + action.GetResource().Resource
	if sub := action.GetSubresource(); sub != "" {
		what += "/" + sub
	}
	if named, ok := action.(interface{ GetName() string }); ok && action.GetVerb() != "create" {
		what += " " + named.GetName()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		if err := w.refuse(what); err != nil {
			return true, nil, err
		}
	}
	if action.GetVerb() != "get" {
		w.writes = append(w.writes, what)
	}
	return false, nil, nil
}

func (w *world) runner(version string) *Runner {
	return New(Config{
		Dynamic: w.dynamic, Kube: w.kube, Recorder: w.recorder, Metrics: w.metrics, Clock: w.clock, Namespace: hubNamespace, Version: version,
		Backoff: wait.Backoff{Duration: time.Millisecond, Steps: 0},
	})
}

// starts is a process of a version that starts, and reports whether its controller may.
func (w *world) starts(version string) {
	w.t.Helper()
	w.writes = nil
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	require.NoError(w.t, w.runner(version).Run(ctx))
}

func (w *world) get(name string) *workv1alpha1.ManifestWorkReplicaSet {
	w.t.Helper()
	u, err := w.dynamic.Tracker().Get(workv1alpha1.ManifestWorkReplicaSetResource, "default", name)
	require.NoError(w.t, err)
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	require.NoError(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.(*unstructured.Unstructured).Object, set))
	return set
}

func (w *world) edit(name string, change func(*workv1alpha1.ManifestWorkReplicaSet)) {
	w.t.Helper()
	set := w.get(name)
	change(set)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	require.NoError(w.t, err)
	require.NoError(w.t, w.dynamic.Tracker().Update(workv1alpha1.ManifestWorkReplicaSetResource, &unstructured.Unstructured{Object: content}, "default"))
}

func (w *world) revision(name string) *appsv1.ControllerRevision {
	w.t.Helper()
	object, err := w.kube.Tracker().Get(appsv1.SchemeGroupVersion.WithResource("controllerrevisions"), "default", name+"-"+w.get(name).Status.UpdateRevision)
	require.NoError(w.t, err)
	return object.(*appsv1.ControllerRevision)
}

func (w *world) recorded() map[string]string {
	w.t.Helper()
	object, err := w.kube.Tracker().Get(corev1.SchemeGroupVersion.WithResource("configmaps"), hubNamespace, plan.ConfigMap)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w.t, err)
	return object.(*corev1.ConfigMap).Data
}

func (w *world) told() []string {
	var all []string
	for {
		select {
		case event := <-w.recorder.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

// state is the one of which the metric tells.
func (w *world) state(state metrics.UpgradeState) {
	w.t.Helper()
	families, err := w.registry.Gather()
	require.NoError(w.t, err)
	var found []string
	for _, family := range families {
		for _, metric := range family.Metric {
			if family.GetName() == "mwrs_upgrade_state" && metric.Gauge.GetValue() == 1 {
				found = append(found, metric.Label[0].GetValue())
			}
		}
	}
	require.Equal(w.t, []string{string(state)}, found)
}

var (
	resources = schema.GroupResource{Group: "g", Resource: "r"}
	forbidden = apierrors.NewForbidden(resources, "x", errors.New("no role"))
	internal  = apierrors.NewInternalError(errors.New("etcd is away"))
	conflict  = apierrors.NewConflict(resources, "x", errors.New("changed"))
	invalid   = apierrors.NewInvalid(schema.GroupKind{Group: "g", Kind: "k"}, "x", nil)
)

// Up, down and up again: what is written, in which order, and what is recorded.
func TestUpAndDown(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.starts("v1.0.0")
	require.Equal(t, []string{"create configmaps"}, w.writes)
	require.Equal(t, map[string]string{"version": "v1.0.0", "snapshots": ""}, w.recorded())
	w.starts("v1.0.0")
	require.Empty(t, w.writes)
	require.Empty(t, w.told())

	w.starts("v1.1.0")
	require.ElementsMatch(t, []string{
		"patch manifestworkreplicasets a", "patch manifestworkreplicasets b", "patch configmaps work-hub-current-version",
	}, w.writes)
	require.Equal(t, "patch configmaps work-hub-current-version", w.writes[2], "last")
	require.Equal(t, map[string]string{"version": "v1.1.0", "snapshots": "v1.0.0"}, w.recorded())
	require.Contains(t, w.get("a").Annotations, workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0")
	require.Equal(t, []string{"Normal HubUpgraded version v1.0.0 ran last, and this hub is the newer v1.1.0; " +
		"2 snapshots of ManifestWorkReplicaSets were taken, 0 were rejected"}, w.told())
	w.starts("v1.1.0")
	require.Empty(t, w.writes)

	w.edit("a", func(set *workv1alpha1.ManifestWorkReplicaSet) { set.Status.CurrentRevision = "" })
	rev := w.revision("a").DeepCopy()
	rev.Annotations = nil
	require.NoError(t, w.kube.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("controllerrevisions"), rev, "default"))
	w.starts("v1.0.0")
	var aboutA []string
	for _, write := range w.writes {
		if !strings.HasSuffix(write, " b") {
			aboutA = append(aboutA, write)
		}
	}
	require.Equal(t, []string{
		"patch controllerrevisions " + rev.Name, "patch manifestworkreplicasets/status a", "patch manifestworkreplicasets a",
		"patch configmaps work-hub-current-version",
	}, aboutA, "revisions, status, annotations, and what is recorded at the very end")
	require.Len(t, w.writes, 5, "b needs nothing but to lose its snapshot")
	require.Equal(t, w.get("a").Status.UpdateRevision, w.get("a").Status.CurrentRevision)
	require.Equal(t, "2026-01-01T00:00:00Z", w.revision("a").Annotations[workv1alpha1.AnnotationCurrentSince])
	require.Equal(t, map[string]string{"version": "v1.0.0", "snapshots": ""}, w.recorded())
	require.Empty(t, w.get("b").Annotations)
	told := w.told()
	require.Len(t, told, 2)
	require.Contains(t, told[0], "Normal SnapshotRestored version v1.0.0 of the hub is back after version v1.1.0, and restored from its snapshot: status.currentRevision")
	require.Contains(t, told[1], "Normal HubDowngraded version v1.1.0 ran last, and this hub is the older v1.0.0; the snapshots of 2 ManifestWorkReplicaSets were restored")

	w.starts("v1.1.0")
	require.Equal(t, map[string]string{"version": "v1.1.0", "snapshots": "v1.0.0"}, w.recorded())
}

// A development build, and one that does not know its namespace, asks for nothing (R35).
func TestDevelopmentBuild(t *testing.T) {
	w := newWorld(t, "a")
	w.starts("v1.0.0")
	w.kube.ClearActions()
	w.starts("v0.0.0-unknown")
	homeless := w.runner("v1.1.0")
	homeless.Namespace = ""
	require.NoError(t, homeless.Run(t.Context()))
	require.Empty(t, w.kube.Actions())
	w.state(metrics.UpgradeDevelopment)
}

// Without a right on the ConfigMap the feature is off, and that is said (R33). Nothing else waits for it.
func TestWithoutTheRight(t *testing.T) {
	for _, verb := range []string{"get", "create", "patch"} {
		t.Run(verb, func(t *testing.T) {
			w := newWorld(t, "a")
			if verb == "patch" {
				w.starts("v0.9.0")
			}
			w.refuse = func(write string) error {
				if strings.HasPrefix(write, verb+" configmaps") {
					return forbidden
				}
				return nil
			}
			w.starts("v1.0.0")
			told := w.told()
			require.Len(t, told, 1)
			require.Contains(t, told[0], "Warning SnapshotsUnavailable the hub cannot record its version")
			require.Contains(t, told[0], "apply the Role and its binding that came with this hub (deploy/)")
			w.state(metrics.UpgradeUnavailable)
		})
	}
}

// A namespace that does not exist is no reason to wait.
func TestWithoutTheNamespace(t *testing.T) {
	w := newWorld(t, "a")
	w.refuse = func(write string) error {
		if write == "create configmaps" {
			return apierrors.NewNotFound(corev1.Resource("namespaces"), hubNamespace)
		}
		return nil
	}
	w.starts("v1.0.0")
	w.state(metrics.UpgradeUnavailable)
}

// A version without snapshots waits, says so once, and continues when somebody deletes the ConfigMap (R38).
func TestRefusal(t *testing.T) {
	w := newWorld(t, "a")
	w.starts("v1.1.0")
	w.starts("v1.2.0")
	w.told()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	looks := make(chan struct{}, 1000)
	w.refuse = func(write string) error {
		if strings.HasPrefix(write, "get configmaps") {
			select {
			case looks <- struct{}{}:
			default:
			}
		}
		return nil
	}
	w.writes = nil
	go func() { done <- w.runner("v1.0.0").Run(ctx) }()
	for range 5 {
		select {
		case <-looks:
		case err := <-done:
			t.Fatal("it ended: ", err)
		}
	}
	require.Equal(t, []string{"Warning DowngradeRefused this hub is v1.0.0, version v1.2.0 ran last, and there are no snapshots of v1.0.0 to restore " +
		"(there are snapshots of v1.1.0): ManifestWorkReplicaSets are not reconciled; run the version that ran last, or delete the ConfigMap " +
		"work-hub-current-version to continue with the state that is there"}, w.told(), "once")
	w.state(metrics.UpgradeRefused)
	require.NoError(t, w.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("configmaps"), hubNamespace, plan.ConfigMap))
	require.NoError(t, <-done)
	require.Equal(t, map[string]string{"version": "v1.0.0", "snapshots": ""}, w.recorded())
	w.state(metrics.UpgradeRecorded)
}

// Each write may fail once, in each way that passes: it is tried again, and the end is the same. Nothing is recorded before that.
func TestEveryWriteMayFail(t *testing.T) {
	for name, failure := range map[string]error{"internal": internal, "conflict": conflict, "lost": errors.New("connection reset")} {
		for n := range 9 {
			t.Run(fmt.Sprintf("%s %d", name, n), func(t *testing.T) {
				w := newWorld(t, "a", "b")
				w.starts("v1.0.0")
				requests, failed := 0, false
				w.refuse = func(string) error {
					if requests++; requests == n+1 {
						failed = true
						return failure
					}
					return nil
				}
				w.starts("v1.1.0")
				require.Equal(t, "v1.1.0", w.recorded()["version"])
				w.edit("a", func(set *workv1alpha1.ManifestWorkReplicaSet) { set.Status.CurrentRevision = "" })
				w.starts("v1.0.0")
				require.Equal(t, "v1.0.0", w.recorded()["version"])
				require.Equal(t, w.get("a").Status.UpdateRevision, w.get("a").Status.CurrentRevision)
				require.Empty(t, w.get("a").Annotations)
				require.True(t, failed)
				for _, event := range w.told() {
					require.NotContains(t, event, "SnapshotRejected")
				}
			})
		}
	}
}

// An object that the API server rejects is named and left out: it must not hold up the rollouts of all others.
func TestRejectedSnapshot(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.starts("v1.0.0")
	w.refuse = func(write string) error {
		if write == "patch manifestworkreplicasets a" {
			return invalid
		}
		return nil
	}
	w.starts("v1.1.0")
	require.NotContains(t, w.get("a").Annotations, workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0")
	require.Contains(t, w.get("b").Annotations, workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0")
	require.Equal(t, "v1.1.0", w.recorded()["version"])
	told := strings.Join(w.told(), "\n")
	require.Contains(t, told, "Warning SnapshotRejected the hub changes its version without the snapshot of this object: patching ManifestWorkReplicaSet default/a: ")
	require.Contains(t, told, "1 snapshots of ManifestWorkReplicaSets were taken, 1 were rejected")
}

// One that is answered with an error is tried for two minutes.
func TestSnapshotThatFailsForLong(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.starts("v1.0.0")
	tries := 0
	w.refuse = func(write string) error {
		if write == "patch manifestworkreplicasets a" {
			tries++
			w.clock.Step(50 * time.Second)
			return internal
		}
		return nil
	}
	w.starts("v1.1.0")
	require.Equal(t, 4, tries, "at 50, 100, 150 and 200 seconds: two minutes after the first failure")
	require.Equal(t, "v1.1.0", w.recorded()["version"])
	require.Contains(t, strings.Join(w.told(), "\n"), "SnapshotRejected")
}

// Objects that are gone, or going, need no snapshot.
func TestObjectsThatGo(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.starts("v1.0.0")
	now := metav1.Now()
	w.edit("a", func(set *workv1alpha1.ManifestWorkReplicaSet) { set.DeletionTimestamp = &now })
	w.refuse = func(write string) error {
		if write == "patch manifestworkreplicasets b" {
			return apierrors.NewNotFound(resources, "b")
		}
		return nil
	}
	w.starts("v1.1.0")
	require.Equal(t, []string{"patch manifestworkreplicasets c", "patch configmaps work-hub-current-version"}, w.writes)
}

// One that the types can't hold has a snapshot too, and hides no other.
func TestUnreadableObject(t *testing.T) {
	w := newWorld(t, "a", "b")
	object, err := w.dynamic.Tracker().Get(workv1alpha1.ManifestWorkReplicaSetResource, "default", "a")
	require.NoError(t, err)
	broken := object.(*unstructured.Unstructured).DeepCopy()
	require.NoError(t, unstructured.SetNestedField(broken.Object, "x", "spec", "manifestWorkTemplate", "workload"))
	require.NoError(t, w.dynamic.Tracker().Update(workv1alpha1.ManifestWorkReplicaSetResource, broken, "default"))
	w.starts("v1.0.0")
	w.starts("v1.1.0")
	for _, name := range []string{"a", "b"} {
		u, err := w.dynamic.Tracker().Get(workv1alpha1.ManifestWorkReplicaSetResource, "default", name)
		require.NoError(t, err)
		require.Contains(t, u.(*unstructured.Unstructured).GetAnnotations(), workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0", name)
	}
}

// Without the permission on ControllerRevisions there are snapshots of the status.
func TestWithoutAHistory(t *testing.T) {
	w := newWorld(t, "a")
	w.kube.PrependReactor("list", "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
	w.starts("v1.0.0")
	w.starts("v1.1.0")
	w.edit("a", func(set *workv1alpha1.ManifestWorkReplicaSet) { set.Status.CurrentRevision = "" })
	w.starts("v1.0.0")
	require.NotEmpty(t, w.get("a").Status.CurrentRevision)
}

// It ends with its context, also while the API server is away.
func TestContextEnds(t *testing.T) {
	w := newWorld(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	w.refuse = func(string) error {
		if tries++; tries == 3 {
			cancel()
		}
		return internal
	}
	require.Error(t, w.runner("v1.0.0").Run(ctx))
	require.Nil(t, w.recorded())
}

// Lists are read page by page, and no template of a revision stays in memory.
func TestListsArePaged(t *testing.T) {
	var asked []metav1.ListOptions
	names := []string{"a", "b", "c"}
	page := func(options metav1.ListOptions) (runtime.Object, error) {
		asked = append(asked, options)
		n := len(asked)
		list := &appsv1.ControllerRevisionList{Items: []appsv1.ControllerRevision{{ObjectMeta: metav1.ObjectMeta{Name: names[n-1]}}}}
		if n < len(names) {
			list.Continue = "next"
		}
		return list, nil
	}
	var found []string
	require.NoError(t, each(t.Context(), page, func(object runtime.Object) error {
		found = append(found, object.(*appsv1.ControllerRevision).Name)
		return nil
	}))
	require.Equal(t, names, found)
	for i, options := range asked {
		require.EqualValues(t, pageSize, options.Limit)
		require.Equal(t, i > 0, options.Continue != "")
		require.Empty(t, options.ResourceVersion, "live, not from a cache of the API server")
	}

	w := newWorld(t, "a")
	listed, err := w.runner("v1.0.0").objects.list(t.Context(), &plan.Decision{Action: plan.TakeSnapshots})
	require.NoError(t, err)
	require.Len(t, listed, 1)
	require.Empty(t, listed[0].Spec)
	require.Len(t, listed[0].History.Revisions, 1)
	require.Nil(t, listed[0].History.Revisions[0].Object.Data.Raw)
	require.NotEmpty(t, listed[0].History.Revisions[0].Digest)
}
