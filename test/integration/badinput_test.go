package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// says waits until a condition has a reason and a message that holds all of these.
func (f *fleet) says(conditionType, reason string, words ...string) {
	f.t.Helper()
	eventually(f.t, conditionType+" says "+strings.Join(words, ", "), func() error {
		mwrs := f.get()
		condition := meta.FindStatusCondition(mwrs.Status.Conditions, conditionType)
		if condition == nil || condition.Reason != reason || condition.ObservedGeneration != mwrs.Generation {
			return fmt.Errorf("%s", describe(mwrs))
		}
		for _, word := range words {
			if !strings.Contains(condition.Message, word) {
				return fmt.Errorf("%q is missing in: %s", word, condition.Message)
			}
		}
		return nil
	})
}

func TestTemplateWithoutManifests(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 1, all("20s", 0))
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{}
	})
	f.says(workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ReasonNotAsExpected, "spec.manifestWorkTemplate.workload.manifests")
	f.quiet()
	require.Equal(t, map[string]string{"c1": "v1"}, f.versions(), "the work stays as it is")
	f.update("v2")
	f.complete()
	f.everywhere("v2")
}

// The strategies and deadlines that a CRD lets through and nobody can follow.
func TestStrategyThatCannotBeParsed(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]struct {
		field  string
		broken workv1alpha1.RolloutStrategy
	}{
		"deadline": {"spec.placementRefs[1].rolloutStrategy.all.progressDeadline", all("5s5", 0)},
		"quoted": {"spec.placementRefs[1].rolloutStrategy.progressive.maxConcurrency", func() workv1alpha1.RolloutStrategy {
			strategy := progressive(1, "20s", 0)
			strategy.Progressive.MaxConcurrency = intstr.FromString("3")
			return strategy
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3)
			f.place("p1", []string{"c1"})
			f.place("p2", []string{"c2"})
			f.create("v1", ref("p1", all("20s", 0)), ref("p2", all("20s", 0)))
			before := f.complete()
			f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
				mwrs.Spec.ManifestWorkTemplate = template("v2")
				mwrs.Spec.PlacementRefs[1] = ref("p2", story.broken)
			})
			f.says(workv1alpha1.ConditionPlacementVerified, workv1alpha1.ReasonNotAsExpected, story.field)
			f.has("c1", "v2") // The other ref can go on.
			f.quiet()
			require.Equal(t, "v1", f.versions()["c2"])
			require.Equal(t, before.Status.CurrentRevision, f.get().Status.CurrentRevision)
			f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.PlacementRefs[1] = ref("p2", all("20s", 0)) })
			f.complete()
			f.everywhere("v2", "c1", "c2")
		})
	}
}

// spoil writes a duration into the object that this hub can't decode, and returns what takes it out again.
func (f *fleet) spoil() (mend func()) {
	f.t.Helper()
	patch := func(operation string) {
		f.t.Helper()
		operation = fmt.Sprintf(`[{"path":"/spec/placementRefs/0/rolloutStrategy/progressive/minSuccessTime",%s}]`, operation)
		_, err := f.w.dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(f.namespace).
			Patch(f.t.Context(), f.name, types.JSONPatchType, []byte(operation), metav1.PatchOptions{})
		require.NoError(f.t, err)
	}
	patch(`"op":"add","value":"5 minutes"`)
	return func() {
		f.t.Helper()
		patch(`"op":"remove"`)
	}
}

// One object that can't be decoded is that object's condition, and never the others' problem.
func TestObjectThatCannotBeDecoded(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 1, progressive(1, "20s", 0))
	mend := f.spoil()
	resource := f.w.dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(f.namespace)
	read := func() *unstructured.Unstructured {
		object, err := resource.Get(t.Context(), f.name, metav1.GetOptions{})
		require.NoError(t, err)
		return object
	}
	eventually(t, "the condition says it", func() error {
		object := read()
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, condition := range conditions {
			c := condition.(map[string]any)
			if c["type"] == workv1alpha1.ConditionManifestworkApplied && c["status"] == "False" && c["observedGeneration"] == object.GetGeneration() &&
				strings.Contains(fmt.Sprint(c["message"]), "5 minutes") {
				return nil
			}
		}
		return fmt.Errorf("the conditions are %v", conditions)
	})
	require.Len(t, f.works(), 1, "its work stays")

	// Another one, made and rolled out while the first is broken.
	g := newFleetIn(f.w, t, 0)
	g.namespace, g.name = f.namespace, "other"
	g.clusters = f.clusters
	g.create("v1", ref("p1", progressive(1, "20s", 0)))
	g.complete()
	g.everywhere("v1")
	g.update("v2")
	g.complete()

	// A broken one can be deleted, and mended.
	mend()
	f.complete()
	f.quiet()
	require.EqualValues(t, 1, f.work("c1").Generation)
}

func TestObjectThatCannotBeDecodedCanBeDeleted(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 1, progressive(1, "20s", 0))
	f.spoil()
	f.delete()
	f.gone()
}

func TestPlacementThatDoesNotExist(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.create("v1", ref("p1", all("20s", 0)))
	f.says(workv1alpha1.ConditionPlacementVerified, workv1alpha1.ReasonPlacementDecisionNotFound, "spec.placementRefs[0].name", `"p1"`)
	f.quiet()
	f.place("p1", []string{"c1"})
	f.complete()
	f.everywhere("v1")
}

func TestPlacementThatSelectsNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.place("p1", []string{})
	f.create("v1", ref("p1", all("20s", 0)))
	mwrs := f.state("PlacementDecisionEmpty=False", "PlacementDecisionEmpty=False", "NewRevisionCreated=True", "Progressing=False")
	require.Empty(t, mwrs.Status.CurrentRevision, "R13: at least one cluster")
	f.quiet()
	f.place("p1", []string{"c1"})
	f.complete()
}

// R9: a name that is too long for the owner label is refused, and can be deleted.
func TestOwnerLabelOver63Characters(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.name = strings.Repeat("n", 60)
	f.place("p1", []string{"c1"})
	f.create("v1", ref("p1", all("20s", 0)))
	f.says(workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ReasonInvalidManifestWorkName, "63")
	f.quiet()
	list, err := f.w.works.WorkV1().ManifestWorks(f.cluster("c1")).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
	f.delete()
	eventually(t, "it is gone", func() error {
		list, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("it is there")
		}
		return err
	})
}

// breakRevision makes a version's ControllerRevision one whose data can't be read: its data can't be changed, it is replaced.
func (f *fleet) breakRevision(version string) {
	f.t.Helper()
	revisions := f.w.kube.AppsV1().ControllerRevisions(f.namespace)
	broken := f.revisionOf(version)
	require.NoError(f.t, revisions.Delete(f.t.Context(), broken.Name, metav1.DeleteOptions{}))
	broken.ResourceVersion, broken.UID = "", ""
	broken.Data = runtime.RawExtension{Raw: json.RawMessage(`{"spec":{"manifestWorkTemplate":"broken"}}`)}
	_, err := revisions.Create(f.t.Context(), broken, metav1.CreateOptions{})
	require.NoError(f.t, err)
}

// R1, R2: a broken revision of today's template is a collision; nothing happens on the clusters.
func TestBrokenUpdateRevision(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1", "c2"})
	f.create("v1", ref("p1", progressive(2, "20s", 0)))
	before := f.complete()
	// The hub may be faster than the test, and make the revision again before the broken one is there.
	eventually(t, "the broken one is there", func() error {
		revisions := f.w.kube.AppsV1().ControllerRevisions(f.namespace)
		broken := f.revisionOf("v1")
		if err := revisions.Delete(t.Context(), broken.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		broken.ResourceVersion, broken.UID = "", ""
		broken.Data = runtime.RawExtension{Raw: json.RawMessage(`{"spec":{"manifestWorkTemplate":"broken"}}`)}
		_, err := revisions.Create(t.Context(), broken, metav1.CreateOptions{})
		return err
	})
	eventually(t, "another revision", func() error {
		if mwrs := f.get(); mwrs.Status.CurrentRevision == before.Status.CurrentRevision {
			return fmt.Errorf("%s", describe(mwrs))
		}
		return nil
	})
	mwrs := f.complete()
	require.NotZero(t, ptr.Deref(mwrs.Status.CollisionCount, 0))
	f.quiet()
	require.Equal(t, map[string]int64{"c1": 1, "c2": 1}, f.generations())
}

// R12: a stable revision that can't be read is nothing to go back to.
func TestBrokenCurrentRevision(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.place("p1", []string{"c1"})
	f.create("v1", ref("p1", all("3s", 0, abortAll)))
	before := f.complete()
	f.agentsReport("", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	f.breakRevision("v1")
	mwrs := f.stalled()
	require.Nil(t, mwrs.Status.AbortedTime)
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	require.Contains(t, message(mwrs, workv1alpha1.ConditionProgressing), "ControllerRevision "+f.namespace+"/web-"+before.Status.CurrentRevision)
	f.quiet()
	require.Equal(t, map[string]string{"c1": "v2"}, f.versions())
	f.agentsReport("", "v2", succeeds)
	f.complete()
}
