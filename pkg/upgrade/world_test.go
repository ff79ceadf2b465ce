package upgrade

import (
	"context"
	"errors"
	"fmt"
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

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
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
	// writes are the requests that the API server accepted, in order.
	writes []string
	// refuse returns the API server's answer to a write that it rejects, or nil if it accepts the write.
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
		rev.Annotations[workv1alpha1.AnnotationLedger] = set.Status.Ledger
		revisiontest.Amend(rev, func(r *revision.Record) { r.Ended = completed })
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
	l := ledger.Ledger{Format: ledger.Format, Owner: set.UID, Seq: 4}
	l.Begin(ledger.Named{Hash: revision.ComputeHash(&set.Spec.ManifestWorkTemplate, nil)}, ledger.New, completed, false)
	l.End(completed)
	if err := l.Project(&set.Status); err != nil {
		panic(err)
	}
	return set
}

var completed = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// lose removes the ledger of an object from both places, together with its projection.
func (w *world) lose(name string) {
	w.t.Helper()
	rev := w.revision(name).DeepCopy()
	delete(rev.Annotations, workv1alpha1.AnnotationLedger)
	require.NoError(w.t, w.kube.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("controllerrevisions"), rev, "default"))
	w.edit(name, func(set *workv1alpha1.ManifestWorkReplicaSet) { set.Status.Ledger, set.Status.CurrentRevision = "", "" })
}

// ledger returns the ledger in an object's status.
func (w *world) ledger(name string) *ledger.Ledger {
	w.t.Helper()
	set := w.get(name)
	found, err := ledger.Decode(set.Status.Ledger, set.UID)
	require.NoError(w.t, err)
	return found
}

// react records writes, and rejects some of them.

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

// starts starts a process of a version, and reports whether its controller may start.

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

// events returns the events since the last call.

func (w *world) events() []string {
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

// state checks the one state whose metric is 1.

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
	internal  = apierrors.NewInternalError(errors.New("etcd is unavailable"))
	conflict  = apierrors.NewConflict(resources, "x", errors.New("changed"))
	invalid   = apierrors.NewInvalid(schema.GroupKind{Group: "g", Kind: "k"}, "x", nil)
)
