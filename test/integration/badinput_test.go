package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

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
