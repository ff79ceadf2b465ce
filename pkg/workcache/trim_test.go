package workcache

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

func spec(manifest string) workv1.ManifestWorkSpec {
	return workv1.ManifestWorkSpec{
		Workload:        workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}},
		DeleteOption:    &workv1.DeleteOption{TTLSecondsAfterFinished: ptr.To(int64(60))},
		ManifestConfigs: []workv1.ManifestConfigOption{{}},
	}
}

func newWork(uid, version string) *workv1.ManifestWork {
	return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "web", UID: types.UID(uid), ResourceVersion: version}}
}

const configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}`

// A trimmed work holds the digest of its spec, and keeps only the fields that decisions and the garbage collection use.
func TestTrimmedWorks(t *testing.T) {
	full := newWork("u1", "7")
	full.Generation = 3
	full.Spec = spec(configMap)
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "agent"}}
	full.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Message: "long"}}
	full.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{
		{ResourceMeta: workv1.ManifestResourceMeta{Name: "a"}, Conditions: []metav1.Condition{{Type: workv1.ManifestApplied, Status: metav1.ConditionTrue}}},
		{Conditions: []metav1.Condition{
			{Type: workv1.ManifestDegraded, Status: metav1.ConditionTrue, Message: "long", ObservedGeneration: 3},
			{Type: workv1.ManifestProgressing, Status: metav1.ConditionFalse, Reason: workv1.ConditionRuleExpressionError},
			{Type: workv1.ManifestProgressing, Status: metav1.ConditionFalse, Reason: "Done"},
		}},
	}
	meant, err := revision.DigestOf(&full.Spec)
	require.NoError(t, err)
	transform := NewTransform()

	cached, err := transform(full.DeepCopy())
	require.NoError(t, err)
	got := cached.(*workv1.ManifestWork)
	digest, trimmed := TrimmedDigest(got)
	require.True(t, trimmed)
	require.Equal(t, meant, digest)
	require.Empty(t, got.Spec.Workload.Manifests)
	require.Empty(t, got.Spec.ManifestConfigs)
	require.Empty(t, got.ManagedFields)
	require.Equal(t, full.Spec.DeleteOption, got.Spec.DeleteOption, "the garbage collection reads it")
	require.Equal(t, []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue}}, got.Status.Conditions)
	require.Equal(t, []workv1.ManifestCondition{{Conditions: []metav1.Condition{
		{Type: workv1.ManifestDegraded, Status: metav1.ConditionTrue, ObservedGeneration: 3},
		{Type: workv1.ManifestProgressing, Status: metav1.ConditionFalse, Reason: workv1.ConditionRuleExpressionError},
	}}}, got.Status.ResourceStatus.Manifests)

	again, err := transform(got.DeepCopy())
	require.NoError(t, err)
	require.Equal(t, got, again, "a second transform changes nothing")
	require.False(t, IsTrimmed(full))

	other, err := transform("a tombstone")
	require.NoError(t, err)
	require.Equal(t, "a tombstone", other)
}

// A forged annotation does not change the digest of a work.
func TestForgedDigestsDoNotCount(t *testing.T) {
	forged := newWork("u1", "7")
	forged.Generation = 3
	forged.Spec = spec(configMap)
	forged.Annotations = map[string]string{workpatch.AnnotationCacheDigest: "0123:abc"}
	meant, err := revision.DigestOf(&forged.Spec)
	require.NoError(t, err)
	require.False(t, IsTrimmed(forged))
	cached, err := NewTransform()(forged)
	require.NoError(t, err)
	digest, _ := TrimmedDigest(cached.(*workv1.ManifestWork))
	require.Equal(t, meant, digest)
}

// A spec that was parsed once is recognized by its bytes. A difference in any byte that matters makes another spec.
func TestDigestsAreKnownByBytes(t *testing.T) {
	d := NewDigests()
	first, other := spec(configMap), spec(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"b"}}`)
	spaced := spec(`{"kind":"ConfigMap", "apiVersion":"v1","metadata":{"name":"a","namespace":"b"}}`)
	config := spec(configMap)
	config.ManifestConfigs[0].ResourceIdentifier.Name = "x"
	broken := spec(`[]`)
	object := spec("")
	object.Workload.Manifests[0].RawExtension = runtime.RawExtension{Object: &metav1.Status{}}

	require.Equal(t, d.DigestOf(&first), d.DigestOf(ptr.To(spec(configMap))))
	require.Equal(t, d.DigestOf(&first), d.DigestOf(&spaced), "the meaning counts, not the bytes")
	require.NotEqual(t, d.DigestOf(&first), d.DigestOf(&other))
	require.NotEqual(t, d.DigestOf(&first), d.DigestOf(&config))
	require.Empty(t, d.DigestOf(&broken))
	require.Empty(t, d.DigestOf(&broken))
	require.NotEmpty(t, d.DigestOf(&object), "manifests without bytes also have a digest")
	require.Equal(t, 5, d.byBytes.Len())
}

// A cache is not stale, before an abort, if an agent only repeated a report with other messages. It is stale if anything changed that a
// decision uses.
func TestACacheShowsWhatIsLive(t *testing.T) {
	d := NewDigests()
	live := func(version string, status metav1.ConditionStatus, message string) *workv1.ManifestWork {
		w := newWork("u1", version)
		w.Generation = 3
		w.Spec = spec(configMap)
		w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: status, Message: message}}
		return w
	}
	trimmed, err := NewTransform()(live("7", metav1.ConditionTrue, "a"))
	require.NoError(t, err)
	cached := trimmed.(*workv1.ManifestWork)
	require.True(t, d.Shows(cached, live("7", metav1.ConditionTrue, "a")))
	require.True(t, d.Shows(cached, live("8", metav1.ConditionTrue, "b")))
	require.False(t, d.Shows(cached, live("8", metav1.ConditionFalse, "a")))
	edited := live("8", metav1.ConditionTrue, "a")
	edited.Spec = spec(`{"kind":"X"}`)
	require.False(t, d.Shows(cached, edited))
	require.False(t, d.Shows(live("7", metav1.ConditionTrue, "a"), live("8", metav1.ConditionTrue, "a")), "a cache without the transform is compared by version")
}

// For a work that keeps objects of another revision, the cache holds the conditions by which its own manifests are judged.
func TestTrimmedHandover(t *testing.T) {
	full := newWork("u1", "7")
	full.Annotations = map[string]string{workv1alpha1.AnnotationKeptRevision: "aaa"}
	full.Spec = spec(configMap)
	full.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta: workv1.ManifestResourceMeta{Ordinal: 1, Name: "a"},
		Conditions: []metav1.Condition{
			{Type: workv1.ManifestApplied, Status: metav1.ConditionTrue, Message: "long", ObservedGeneration: 3}, {Type: "StatusFeedbackSynced"},
		},
	}}
	trimmed, err := NewTransform()(full)
	require.NoError(t, err)
	require.Equal(t, []workv1.ManifestCondition{{
		ResourceMeta: workv1.ManifestResourceMeta{Ordinal: 1},
		Conditions:   []metav1.Condition{{Type: workv1.ManifestApplied, Status: metav1.ConditionTrue, ObservedGeneration: 3}},
	}}, trimmed.(*workv1.ManifestWork).Status.ResourceStatus.Manifests)
}
