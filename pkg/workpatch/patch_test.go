package workpatch

import (
	"encoding/json"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// stored is a work at revision aaa as a cache holds it, with a label and an annotation of another writer.
func stored() *work.Work {
	w := rt.Work("c1", rt.AtRevision("aaa"))
	w.Object.UID, w.Object.ResourceVersion = "uid", "7"
	w.Object.Labels["theirs"] = "x"
	w.Object.Annotations["theirs"] = "x"
	w.Object.Annotations[AnnotationCacheDigest] = "a digest"
	w.Object.Spec = *rt.Template("aaa")
	return &w
}

func owner() *work.OwnerMetadata {
	return work.NewOwnerMetadata(rt.Owner, map[string]string{"team": "web"}, false)
}

// apply returns the work after an API server has applied a patch.
func apply(t *testing.T, kind types.PatchType, data []byte, work *workv1.ManifestWork) *workv1.ManifestWork {
	t.Helper()
	before, err := json.Marshal(work)
	require.NoError(t, err)
	var after []byte
	switch kind {
	case types.JSONPatchType:
		patch, err := jsonpatch.DecodePatch(data)
		require.NoError(t, err)
		after, err = patch.Apply(before)
		require.NoError(t, err)
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, data)
		require.NoError(t, err)
	}
	out := &workv1.ManifestWork{}
	require.NoError(t, json.Unmarshal(after, out))
	return out
}

func patchOf(t *testing.T, w *rollout.Write) (types.PatchType, []byte) {
	t.Helper()
	var change Change
	if w.ChangesSpec() {
		var err error
		change, err = Compare(&w.Work.Object.Spec, w.Revision.Template)
		require.NoError(t, err)
	}
	kind, data, err := Patch(w, change, rt.At(time.Minute))
	require.NoError(t, err)
	return kind, data
}

// nulls is a revision whose manifests contain nulls in a list.
func nulls() *work.Revision {
	rev := rt.Revision("bbb")
	rev.Template.Workload.Manifests = append(rev.Template.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n","creationTimestamp":null},"l":[null,{"n":null}]}`),
	}})
	return rev
}

// A new work has the owner's labels, the protection from GitOps tools, and the revision. Its spec is a copy.
func TestNew(t *testing.T) {
	update := rt.Revision("bbb")
	work := New(&rollout.Write{Owner: owner(), Action: rollout.Create, Cluster: "c1", Placement: "p1", Group: "g1", Revision: update}, "web", rt.At(time.Minute))
	require.Equal(t, []string{"c1", "web"}, []string{work.Namespace, work.Name})
	require.Equal(t, map[string]string{
		"team": "web", workv1alpha1.LabelReplicaSet: rt.Owner, workv1alpha1.LabelPlacement: "p1", workv1alpha1.LabelControllerHash: "bbb",
	}, work.Labels)
	require.Equal(t, rt.At(time.Minute).Format(timeFormat), work.Annotations[workv1alpha1.AnnotationAppliedAt])
	require.Equal(t, "g1", work.Annotations[workv1alpha1.AnnotationDecisionGroup])
	require.Equal(t, "team", work.Annotations[workv1alpha1.AnnotationCopiedLabels])
	require.Equal(t, *update.Template, work.Spec)
	work.Spec.Workload.Manifests[0].Raw[0] = 'x'
	require.NotEqual(t, *update.Template, work.Spec, "the revision is shared with the cache")
	require.False(t, IsStripped(&rollout.Write{Owner: owner(), Placement: "p1", Group: "g1"}, work))
}

// A patch writes the spec, labels and annotations in one request, for the version on which the decision was based. Labels and annotations
// of other writers stay, and the cache's own annotation is not sent to the API server.
func TestPatch(t *testing.T) {
	for name, test := range map[string]struct {
		revision *work.Revision
		kind     types.PatchType
	}{
		"a merge patch":                   {rt.Revision("bbb"), types.MergePatchType},
		"a JSON patch if there are nulls": {nulls(), types.JSONPatchType},
	} {
		t.Run(name, func(t *testing.T) {
			w := &rollout.Write{Owner: owner(), Action: rollout.Update, Cluster: "c1", Placement: "p2", Work: stored(), Revision: test.revision}
			kind, data := patchOf(t, w)
			require.Equal(t, test.kind, kind)
			require.NotContains(t, string(data), AnnotationCacheDigest)
			live := w.Work.Object.DeepCopy()
			delete(live.Annotations, AnnotationCacheDigest)
			live.Spec.DeleteOption = nil
			patched := apply(t, kind, data, live)
			require.Equal(t, []any{types.UID("uid"), "7"}, []any{patched.UID, patched.ResourceVersion})
			require.Equal(t, "bbb", patched.Labels[workv1alpha1.LabelControllerHash])
			require.Equal(t, "p2", patched.Labels[workv1alpha1.LabelPlacement])
			require.Equal(t, "x", patched.Labels["theirs"])
			require.Equal(t, "x", patched.Annotations["theirs"])

			whole := Whole(w, rt.At(time.Minute))
			require.Equal(t, whole.Labels, patched.Labels, "a driver that writes whole works writes the same")
			require.Equal(t, whole.Annotations, patched.Annotations)
			wanted, err := json.Marshal(whole.Spec)
			require.NoError(t, err)
			got, err := json.Marshal(patched.Spec)
			require.NoError(t, err)
			require.JSONEq(t, string(wanted), string(got))
			require.Contains(t, w.Work.Object.Annotations, AnnotationCacheDigest, "the object in the cache is unchanged")
		})
	}
}

// The patch that writes the work names the revision whose objects are kept. The patch that trims the work removes this name.
func TestPatchOfAHandover(t *testing.T) {
	w := &rollout.Write{Owner: owner(), Action: rollout.Update, Cluster: "c1", Placement: "p1", Work: stored(), Revision: rt.Revision("bbb"), KeptRevision: "aaa"}
	kept := Whole(w, rt.At(time.Minute))
	require.Equal(t, "aaa", kept.Annotations[workv1alpha1.AnnotationKeptRevision])
	kind, data := patchOf(t, w)
	live := w.Work.Object.DeepCopy()
	delete(live.Annotations, AnnotationCacheDigest)
	require.Equal(t, kept.Annotations, apply(t, kind, data, live).Annotations)

	w.Work.Object.Annotations[workv1alpha1.AnnotationKeptRevision], w.KeptRevision = "aaa", ""
	require.NotContains(t, Whole(w, rt.At(time.Minute)).Annotations, workv1alpha1.AnnotationKeptRevision)
	delete(w.Work.Object.Annotations, workv1alpha1.AnnotationKeptRevision)
	_, data = patchOf(t, w)
	require.NotContains(t, string(data), workv1alpha1.AnnotationKeptRevision, "Immediate does not write the annotation")
}

// A write of a spec records the digest that it requests and the generation that it creates. If the API server stores a different spec, a
// write of metadata alone records this. The write of the next spec removes the record.
func TestAccepted(t *testing.T) {
	w := &rollout.Write{Owner: owner(), Action: rollout.Update, Cluster: "c1", Placement: "p1", Work: stored(), Revision: rt.Revision("bbb")}
	w.Work.Object.Generation = 4
	kind, data := patchOf(t, w)
	live := apply(t, kind, data, w.Work.Object)
	require.Equal(t, "digest of bbb/5", live.Annotations[workv1alpha1.AnnotationAccepted])

	live.Generation = 5
	relabel := &rollout.Write{Owner: owner(), Action: rollout.Relabel, Cluster: "c1", Placement: "p1", Work: &work.Work{Object: live, Digest: "pruned", AcceptedAs: "digest of bbb"}}
	kind, data = patchOf(t, relabel)
	require.JSONEq(t, `{"metadata":{"uid":"uid","resourceVersion":"7","annotations":{"`+workv1alpha1.AnnotationAccepted+`":"digest of bbb/pruned"}}}`, string(data))
	require.True(t, IsStripped(relabel, live), "a webhook removed it")
	recorded := apply(t, kind, data, live)
	require.False(t, IsStripped(relabel, recorded))

	adopt := &rollout.Write{Owner: owner(), Action: rollout.Adopt, Cluster: "c1", Placement: "p1", Work: &work.Work{Object: recorded, Digest: "digest of bbb"}, Revision: rt.Revision("bbb")}
	kind, data = patchOf(t, adopt)
	require.NotContains(t, apply(t, kind, data, recorded).Annotations, workv1alpha1.AnnotationAccepted, "the spec is stored as requested")

	create := &rollout.Write{Owner: owner(), Action: rollout.Create, Cluster: "c1", Placement: "p1", Revision: rt.Revision("bbb")}
	require.Equal(t, "digest of bbb/1", New(create, "web", rt.At(0)).Annotations[workv1alpha1.AnnotationAccepted])
	brokered := work.NewOwnerMetadata(rt.Owner, map[string]string{"team": "web"}, true)
	create.Owner, w.Owner = brokered, brokered
	require.NotContains(t, New(create, "web", rt.At(0)).Annotations, workv1alpha1.AnnotationAccepted)
	require.NotContains(t, Whole(w, rt.At(0)).Annotations, workv1alpha1.AnnotationAccepted)
}

// A label with an empty value is copied, and is not written repeatedly.
func TestPatchOfAnEmptyLabel(t *testing.T) {
	labelled := work.NewOwnerMetadata(rt.Owner, map[string]string{"team": ""}, false)
	w := &rollout.Write{Owner: labelled, Action: rollout.Relabel, Cluster: "c1", Placement: "p1", Work: stored()}
	kind, data := patchOf(t, w)
	w.Work.Object = apply(t, kind, data, w.Work.Object)
	require.Contains(t, w.Work.Object.Labels, "team")
	require.False(t, IsStripped(w, w.Work.Object))
	_, data = patchOf(t, w)
	require.JSONEq(t, `{"metadata":{"uid":"uid","resourceVersion":"7"}}`, string(data))
}

// The owner label is restored on the version that was read.
func TestOwnerPatch(t *testing.T) {
	lost := stored().Object
	delete(lost.Labels, workv1alpha1.LabelReplicaSet)
	kind, data, err := OwnerPatch(lost, rt.OwnerMetadata())
	require.NoError(t, err)
	require.JSONEq(t, `{"metadata":{"uid":"uid","resourceVersion":"7","labels":{"`+workv1alpha1.LabelReplicaSet+`":"default.web"}}}`, string(data))
	require.Equal(t, rt.Owner, apply(t, kind, data, lost).Labels[workv1alpha1.LabelReplicaSet])
}

// A difference is expressed only in the fields that this binary knows: a field of a newer CRD stays.
func TestCompare(t *testing.T) {
	before, after := rt.Template("aaa"), rt.Template("aaa")
	change, err := Compare(before, after)
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(change.merge))
	require.Nil(t, change.operations)

	before.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	after.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{Type: workv1.ExecutorSubjectTypeServiceAccount}}
	change, err = Compare(before, after)
	require.NoError(t, err)
	require.JSONEq(t, `{"deleteOption":null,"executor":{"subject":{"type":"ServiceAccount"}}}`, string(change.merge))

	broken := &workv1.ManifestWorkSpec{}
	broken.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte("{")}}}
	_, err = Compare(broken, after)
	require.ErrorContains(t, err, "the stored spec")
	_, err = Compare(before, broken)
	require.ErrorContains(t, err, "the template")
}

// A JSON patch removes fields that the template does not have, even if only some works have them, and keeps fields that it does not name.
func TestOperations(t *testing.T) {
	before := rt.Template("aaa")
	before.ManifestConfigs = nulls().Template.ManifestConfigs
	before.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	before.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{Type: workv1.ExecutorSubjectTypeServiceAccount}}
	after := nulls().Template
	after.ManifestConfigs = nil
	after.Executor = before.Executor.DeepCopy()
	after.Executor.Subject.ServiceAccount = &workv1.ManifestWorkSubjectServiceAccount{Namespace: "default", Name: "applier"}
	change, err := Compare(before, after)
	require.NoError(t, err)
	paths := make([]string, 0, len(change.operations))
	for _, operation := range change.operations {
		paths = append(paths, operation.Op+" "+operation.Path)
	}
	require.Equal(t, []string{
		"add /spec/deleteOption", "remove /spec/deleteOption", "add /spec/executor/subject/serviceAccount",
		"add /spec/manifestConfigs", "remove /spec/manifestConfigs", "add /spec/workload/manifests",
	}, paths)

	_, err = operations("/spec", []byte(`[]`), []byte(`{}`))
	require.ErrorContains(t, err, "/spec")
	_, err = operations("/spec", []byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":{}}`))
	require.ErrorContains(t, err, "/spec")
}

// A null matters if a merge patch would lose it: in an object within a list.
func TestLosesNull(t *testing.T) {
	for patch, loses := range map[string]bool{
		`{"a":null}`:               false,
		`{"a":{"b":null}}`:         false,
		`{"a":[{"b":1}]}`:          false,
		`{"a":[{"b":null}]}`:       true,
		`{"a":[[{"b":null}]]}`:     true,
		`{"a":[{"b":{"c":null}}]}`: true,
	} {
		var value any
		require.NoError(t, json.Unmarshal([]byte(patch), &value))
		require.Equal(t, loses, losesNull(value, false), patch)
	}
}

func TestMissingMark(t *testing.T) {
	hash, at := workv1alpha1.LabelControllerHash, workv1alpha1.AnnotationAppliedAt
	write := &rollout.Write{Revision: &work.Revision{Hash: "v2"}}
	for name, test := range map[string]struct {
		write               *rollout.Write
		labels, annotations map[string]string
		want                string
	}{
		"both":                       {write, map[string]string{hash: "v2"}, map[string]string{at: "now"}, ""},
		"no label":                   {write, nil, map[string]string{at: "now"}, "the label " + hash},
		"another hash":               {write, map[string]string{hash: "v1"}, map[string]string{at: "now"}, "the label " + hash},
		"no annotation":              {write, map[string]string{hash: "v2"}, nil, "the annotation " + at},
		"a write without a revision": {&rollout.Write{}, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer := &metav1.ObjectMeta{Labels: test.labels, Annotations: test.annotations}
			require.Equal(t, test.want, MissingMark(test.write, answer))
		})
	}
}
