package workcache

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

func none(string) bool { return false }

// R20: while the workloads of an owner are released, each report leads to a pass, because a trimmed work does not show that an agent
// removed one of two objects.
func TestEventsOfReleasedWorks(t *testing.T) {
	report := func(version string, removed int) any {
		w := newWork("u1", version)
		w.Labels = map[string]string{workv1alpha1.LabelReplicaSet: "default.web"}
		for i := range 2 {
			missing := metav1.Condition{Type: workv1.ManifestAvailable, Status: metav1.ConditionTrue}
			if i < removed {
				missing.Status, missing.Reason = metav1.ConditionFalse, "ResourceNotAvailable"
			}
			w.Status.ResourceStatus.Manifests = append(w.Status.ResourceStatus.Manifests, workv1.ManifestCondition{
				ResourceMeta: workv1.ManifestResourceMeta{Ordinal: int32(i)}, Conditions: []metav1.Condition{missing},
			})
		}
		trimmed, err := NewTransform()(w)
		require.NoError(t, err)
		return trimmed
	}
	var keys []string
	handler := OwnerEvents(func(key string) { keys = append(keys, key) }, func(key string) bool { return key == "default/web" })
	handler.OnUpdate(report("7", 0), report("8", 1))
	handler.OnUpdate(report("8", 1), report("9", 2))
	require.Equal(t, []string{"default/web", "default/web"}, keys)
}

// The events of a work that lead to a pass, and the objects of these passes.
func TestOwnerEvents(t *testing.T) {
	at := metav1.NewTime(time.Unix(1000, 0))
	report := func(version string, change func(*workv1.ManifestWork)) *workv1.ManifestWork {
		w := newWork("u1", version)
		w.Generation = 2
		w.Labels = map[string]string{workv1alpha1.LabelReplicaSet: "default.web"}
		w.Spec = spec(configMap)
		w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: 2, LastTransitionTime: at, Message: "a"}}
		w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{Conditions: []metav1.Condition{{Type: workv1.ManifestApplied, Status: metav1.ConditionTrue}}}}
		change(w)
		trimmed, err := NewTransform()(w)
		require.NoError(t, err)
		return trimmed.(*workv1.ManifestWork)
	}
	as := func(*workv1.ManifestWork) {}
	for name, test := range map[string]struct {
		version string
		change  func(*workv1.ManifestWork)
		keys    []string
	}{
		"a resync": {"7", as, []string{"default/web"}},
		"nothing":  {"8", as, nil},
		"other words": {"8", func(w *workv1.ManifestWork) {
			w.Status.Conditions[0].Message = "b"
			w.Status.ResourceStatus.Manifests[0].Conditions[0].Message = "c"
			w.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "agent"}}
		}, nil},
		"a time":       {"8", func(w *workv1.ManifestWork) { w.Status.Conditions[0].LastTransitionTime.Time = at.Add(time.Second) }, []string{"default/web"}},
		"a status":     {"8", func(w *workv1.ManifestWork) { w.Status.Conditions[0].Status = metav1.ConditionFalse }, []string{"default/web"}},
		"a generation": {"8", func(w *workv1.ManifestWork) { w.Status.Conditions[0].ObservedGeneration = 1 }, []string{"default/web"}},
		"a manifest degrades": {"8", func(w *workv1.ManifestWork) {
			w.Status.ResourceStatus.Manifests[0].Conditions[0].Type = workv1.ManifestDegraded
		}, []string{"default/web"}},
		"a deletion": {"8", func(w *workv1.ManifestWork) { w.DeletionTimestamp = &at }, []string{"default/web"}},
		"an edit":    {"8", func(w *workv1.ManifestWork) { w.Spec = spec(`{"kind":"X"}`) }, []string{"default/web"}},
		"a label":    {"8", func(w *workv1.ManifestWork) { w.Labels["x"] = "y" }, []string{"default/web"}},
		"another owner": {"8", func(w *workv1.ManifestWork) {
			w.Labels[workv1alpha1.LabelReplicaSet] = "default.other"
		}, []string{"default/other", "default/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			var keys []string
			handler := OwnerEvents(func(key string) { keys = append(keys, key) }, none)
			handler.OnUpdate(report("7", as), report(test.version, test.change))
			require.Equal(t, test.keys, keys)
		})
	}
	var keys []string
	handler := OwnerEvents(func(key string) { keys = append(keys, key) }, none)
	handler.OnAdd(report("7", as), true)
	handler.OnDelete(cache.DeletedFinalStateUnknown{Obj: report("7", as)})
	handler.OnUpdate(newWork("u1", "1"), newWork("u1", "2"))
	require.Equal(t, []string{"default/web", "default/web"}, keys)
	whole := func(version string) *workv1.ManifestWork {
		w := newWork("u1", version)
		w.Labels = map[string]string{workv1alpha1.LabelReplicaSet: "default.web"}
		return w
	}
	handler.OnUpdate(whole("1"), whole("2"))
	require.Len(t, keys, 3, "a cache with whole works reports every change")
}

// An object leads to the owner that its label names. It leads to no owner if no owner can have written it.
func TestOwnerKeys(t *testing.T) {
	labelled := newWork("u1", "7")
	labelled.Labels = map[string]string{workv1alpha1.LabelReplicaSet: "default.web.v1"}
	foreign := newWork("u2", "7")
	foreign.Labels = map[string]string{workv1alpha1.LabelReplicaSet: "nobody"}
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, OwnerIndexers())
	require.NoError(t, index.Add(labelled))
	require.Equal(t, []string{"default/web.v1"}, index.ListIndexFuncValues(ByOwner))
	require.Empty(t, OwnerKeys(foreign))
	hashed := newWork("u3", "7")
	hashed.Labels = map[string]string{workv1alpha1.LabelOwnerHash: workv1alpha1.OwnerHash("default", "web"), workv1alpha1.LabelControllerHash: "aaa"}
	hashed.Annotations = map[string]string{workv1alpha1.AnnotationOwner: "default/web"}
	trimmed, err := NewTransform()(hashed)
	require.NoError(t, err)
	require.Equal(t, []string{"default/web"}, OwnerKeys(trimmed), "either label leads to the owner")
	unowned := WorkIndexers()[Unowned]
	for _, of := range []*workv1.ManifestWork{hashed, labelled} {
		keys, err := unowned(of)
		require.NoError(t, err)
		require.Empty(t, keys)
	}
	delete(hashed.Annotations, workv1alpha1.AnnotationOwner)
	keys, err := unowned(hashed)
	require.NoError(t, err)
	require.Equal(t, []string{""}, keys, "a hash without its owner does not identify an owner")
	require.Empty(t, OwnerKeys("no object"))
	require.Equal(t, any(labelled), UnwrapTombstone(cache.DeletedFinalStateUnknown{Obj: labelled}))
	require.Equal(t, any(labelled), UnwrapTombstone(labelled))
}
