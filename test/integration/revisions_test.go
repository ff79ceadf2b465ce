package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// R2: what a revision looks like.
func TestRevisionOfATemplate(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.place("p1", []string{"c1"})
	f.create("v1", ref("p1", all("None", 0)))
	mwrs := f.complete()
	hash := revision.ComputeHash(&mwrs.Spec.ManifestWorkTemplate, nil)
	require.Equal(t, hash, mwrs.Status.CurrentRevision)
	require.Nil(t, mwrs.Status.CollisionCount)

	rev := f.revisionOf("v1")
	require.Equal(t, "web-"+hash, rev.Name)
	require.EqualValues(t, 1, rev.Revision)
	require.True(t, metav1.IsControlledBy(rev, mwrs))
	require.Equal(t, f.namespace+".web", rev.Labels[workv1alpha1.LabelReplicaSet])
	require.Equal(t, hash, rev.Labels[workv1alpha1.LabelControllerHash])
	require.Equal(t, "1", rev.Annotations[workv1alpha1.AnnotationGeneration])
	var data struct {
		Spec struct {
			ManifestWorkTemplate json.RawMessage `json:"manifestWorkTemplate"`
		} `json:"spec"`
	}
	require.NoError(t, json.Unmarshal(rev.Data.Raw, &data))
	require.NotEmpty(t, data.Spec.ManifestWorkTemplate)
}

// The hash label distinguishes works of one revision from those of another.
func TestWorksCanBeFilteredByTheHashLabel(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, progressive(1, "30s", 0))
	f.agentsReport("", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	byHash := func(hash string) []string {
		list, err := f.w.works.WorkV1().ManifestWorks("").List(t.Context(), metav1.ListOptions{
			LabelSelector: workv1alpha1.LabelControllerHash + "=" + hash + "," + workv1alpha1.LabelReplicaSet + "=" + f.namespace + "." + f.name,
		})
		require.NoError(t, err)
		found := []string{}
		for i := range list.Items {
			found = append(found, f.short(list.Items[i].Namespace))
		}
		slices.Sort(found)
		return found
	}
	require.Equal(t, []string{"c1"}, byHash(f.hash("v2")))
	require.Equal(t, []string{"c2", "c3"}, byHash(f.hash("v1")))
}

// R5, P6.
func TestHistoryLimit(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]struct {
		limit *int32
		kept  []string
	}{
		"none":    {ptr.To[int32](0), []string{"v4"}},
		"one":     {ptr.To[int32](1), []string{"v3", "v4"}},
		"default": {nil, []string{"v1", "v2", "v3", "v4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 1)
			f.place("p1", []string{"c1"})
			f.create("v1", ref("p1", all("None", 0)))
			f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.RevisionHistoryLimit = story.limit })
			f.complete()
			for _, version := range []string{"v2", "v3", "v4"} {
				f.update(version)
				f.complete()
			}
			f.keeps(story.kept...)
			f.quiet()
		})
	}
}

func (f *fleet) keeps(versions ...string) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("the revisions are %v", versions), func() error {
		if found := f.recorded(); !slices.Equal(found, versions) {
			return fmt.Errorf("they are %v", found)
		}
		return nil
	})
}

// R5: ten revisions are kept beside the live one where nothing else is said.
func TestDefaultHistoryLimitIsTen(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.place("p1", []string{"c1"})
	f.create("v01", ref("p1", all("None", 0)))
	f.complete()
	for i := 2; i <= 13; i++ {
		f.update(fmt.Sprintf("v%02d", i))
		f.complete()
	}
	f.keeps("v03", "v04", "v05", "v06", "v07", "v08", "v09", "v10", "v11", "v12", "v13")
}

// R5: a limit that is lowered prunes at once.
func TestLowerHistoryLimitPrunes(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 1, all("None", 0))
	for _, version := range []string{"v2", "v3"} {
		f.update(version)
		f.complete()
	}
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.RevisionHistoryLimit = ptr.To[int32](0) })
	f.keeps("v3")
	f.complete()
	f.quiet()
}

// R5: the current revision, the update revision, and those that works have are never pruned.
func TestLiveRevisionsAreNeverPruned(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1", "c2"})
	f.create("v1", ref("p1", progressive(1, "2s", 0, abortAll)))
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.RevisionHistoryLimit = ptr.To[int32](0) })
	f.complete()

	// c2 goes offline and leaves: its work stays, and has v1.
	f.agentsReport("c2", "", silent)
	f.place("p1", []string{"c1"})
	f.leaving("c2")
	kept := f.revisionOf("v1").UID
	for _, version := range []string{"v2", "v3"} {
		f.update(version)
		f.complete()
	}
	f.keeps("v1", "v3")
	f.quiet()
	require.Equal(t, kept, f.revisionOf("v1").UID, "it was kept, not pruned and rebuilt (R7)")
	f.agentsReport("", "v4", hangs)
	f.update("v4")
	f.aborted()
	f.keeps("v1", "v3", "v4")
	f.agentsReport("c2", "", succeeds)
	f.keeps("v3", "v4")
	f.quiet()
}

// leaving waits until a cluster's work is being deleted.
func (f *fleet) leaving(short string) {
	f.t.Helper()
	eventually(f.t, "the work of "+short+" is being deleted", func() error {
		if f.work(short).DeletionTimestamp == nil {
			return fmt.Errorf("it is not")
		}
		return nil
	})
}

// R2: a name that another object has is counted as a collision, and another one is taken.
func TestHashCollision(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1", "c2"})
	wanted := f.stored("v1")
	taken := revision.ComputeHash(&wanted, nil)
	other := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: revision.Name(f.name, taken),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Namespace", Name: "default", UID: "00000000-0000-0000-0000-000000000000", Controller: ptr.To(true),
			}},
		},
		Data:     runtime.RawExtension{Raw: []byte(`{"spec":{}}`)},
		Revision: 7,
	}
	// A finalizer keeps the garbage collector from taking it: its owner is not there.
	other.Finalizers = []string{"example.com/test"}
	_, err := f.w.kube.AppsV1().ControllerRevisions(f.namespace).Create(t.Context(), other, metav1.CreateOptions{})
	require.NoError(t, err)

	f.create("v1", ref("p1", progressive(1, "10s", 0)))
	mwrs := f.complete()
	f.everywhere("v1")
	require.EqualValues(t, 1, ptr.Deref(mwrs.Status.CollisionCount, 0))
	require.Equal(t, revision.ComputeHash(&wanted, ptr.To[int32](1)), mwrs.Status.CurrentRevision)
	require.NotEqual(t, taken, mwrs.Status.CurrentRevision)
	f.quiet()

	f.update("v2")
	f.complete()
	f.update("v1")
	mwrs = f.complete()
	require.EqualValues(t, 1, ptr.Deref(mwrs.Status.CollisionCount, 0), "the revision is found by its content")
	require.Equal(t, revision.ComputeHash(&wanted, ptr.To[int32](1)), mwrs.Status.CurrentRevision)
}

// stored is a version's template as the API server stores it, with its defaults.
func (f *fleet) stored(version string) workv1.ManifestWorkSpec {
	f.t.Helper()
	mwrs := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "dry-run", Namespace: f.namespace}}
	mwrs.Spec.ManifestWorkTemplate = template(version)
	mwrs.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref("none", all("None", 0))}
	answer, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).
		Create(f.t.Context(), mwrs, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(f.t, err)
	return answer.Spec.ManifestWorkTemplate
}

// R1: a change of the spec beside the template is no new revision.
func TestChangeBesideTheTemplateIsNoNewRevision(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.place("p1", []string{"c1"})
	f.create("v1", ref("p1", all("None", 0)))
	before := f.complete()
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.RevisionHistoryLimit = ptr.To[int32](3)
		mwrs.Spec.PlacementRefs[0] = ref("p1", progressive(1, "20s", 0, abortAll))
	})
	mwrs := f.complete()
	f.quiet()
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	require.Equal(t, []string{"v1"}, f.recorded())
	require.EqualValues(t, 1, f.work("c1").Generation)
}

// A revision that is deleted while its template is in use is made again, and nothing is rolled out.
func TestDeletedUpdateRevisionIsMadeAnew(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1", "c2"})
	f.create("v1", ref("p1", progressive(1, "2s", 0, abortAll)))
	before := f.complete()
	old := f.revisionOf("v1")
	require.NoError(t, f.w.kube.AppsV1().ControllerRevisions(f.namespace).Delete(t.Context(), old.Name, metav1.DeleteOptions{}))
	f.keeps("v1")
	require.NotEqual(t, old.UID, f.revisionOf("v1").UID)
	mwrs := f.complete()
	f.quiet()
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	require.Equal(t, map[string]int64{"c1": 1, "c2": 1}, f.generations())

	// That it is the current one is told on the new one too (R16): a status that is lost later is rebuilt from there.
	f.agentsReport("", "v2", hangs)
	f.update("v2")
	f.has("c1", "v2")
	f.wipeStatus()
	mwrs = f.aborted()
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	f.everywhere("v1")
}

// R2: a revision whose labels someone took away is found by its name, and gets them back.
func TestRevisionThatLostItsLabels(t *testing.T) {
	t.Parallel()
	for name, label := range map[string]string{"owner": workv1alpha1.LabelReplicaSet, "hash": workv1alpha1.LabelControllerHash} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 1)
			f.place("p1", []string{"c1"})
			f.create("v1", ref("p1", all("None", 0)))
			before := f.complete()
			rev := f.revisionOf("v1")
			delete(rev.Labels, label)
			_, err := f.w.kube.AppsV1().ControllerRevisions(f.namespace).Update(t.Context(), rev, metav1.UpdateOptions{})
			require.NoError(t, err)
			eventually(t, "the label is back", func() error {
				if found := f.revisionOf("v1").Labels; found[label] == "" {
					return fmt.Errorf("the labels are %v", found)
				}
				return nil
			})
			mwrs := f.complete()
			require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
			f.quiet()
			f.update("v2")
			f.complete()
			f.everywhere("v2")
		})
	}
}

// R7: the stable revision that lost a label is found by its name while a rollout is under way, and a failure goes back to it.
func TestStableRevisionThatLostItsLabels(t *testing.T) {
	t.Parallel()
	for name, label := range map[string]string{"owner": workv1alpha1.LabelReplicaSet, "hash": workv1alpha1.LabelControllerHash} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 2)
			f.place("p1", []string{"c1", "c2"})
			f.create("v1", ref("p1", progressive(2, "5s", 0, abortAll)))
			f.complete()
			f.agentsReport("", "v2", hangs)
			f.update("v2")
			f.everywhere("v2")
			rev := f.revisionOf("v1")
			delete(rev.Labels, label)
			_, err := f.w.kube.AppsV1().ControllerRevisions(f.namespace).Update(t.Context(), rev, metav1.UpdateOptions{})
			require.NoError(t, err)
			f.aborted()
			f.everywhere("v1")
			require.NotEmpty(t, f.revisionOf("v1").Labels[label])
			f.quiet()
		})
	}
}
