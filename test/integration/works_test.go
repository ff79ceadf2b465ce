package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// R10, settled: agents that first stamp the new generation on what they read of the old object start no next batch, and
// complete nothing.
func TestOldSuccessUnderTheNewGenerationDoesNotCount(t *testing.T) {
	t.Parallel()
	for name, strategy := range map[string]workv1alpha1.RolloutStrategy{
		"progressive": progressive(1, "3s", 0),
		"pergroup":    perGroup("3s", 0),
		"all":         all("3s", 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 2)
			groups := [][]string{{"c1"}, {"c2"}}
			if name == "all" {
				groups = groups[:1] // Both would have to lie at the same moment.
			}
			f.place("p1", groups...)
			f.create("v1", ref("p1", strategy))
			before := f.complete()
			f.agentsReport("", "v2", liesAt)
			f.update("v2")
			mwrs := f.stalled()
			require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
			require.Equal(t, []string{"c1"}, f.reached("v2"))
			f.quiet()
			for _, seen := range f.w.history.seenOf(f) {
				require.False(t, seen.reasons[3] == "Complete=True" && seen.update == mwrs.Status.UpdateRevision, "it never was complete")
			}
		})
	}
}

// R10: a work that someone edited is put back, under the strategy, and no rollout begins.
func TestHandEditedWorkIsPutBackUnderTheStrategy(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1", "c2"})
	f.create("v1", ref("p1", progressive(1, "30s", 0, abortAll)))
	before := f.complete()
	f.agentsReport("", "v1", hangs) // so that whoever is put back first takes the only slot
	applied := f.work("c1").Annotations[workv1alpha1.AnnotationAppliedAt]
	for _, cluster := range []string{"c1", "c2"} {
		f.agentsReport(cluster, "edited", succeeds)
	}
	f.agentsReport("", "v1", succeeds)
	f.complete()
	f.agentsReport("c1", "v1", hangs)
	f.editWork("c1", func(work *workv1.ManifestWork) { work.Spec = template("edited") })
	eventually(t, "c1 is put back", func() error {
		if sequence := strings.Join(f.sequence("c1"), " "); sequence != "v1 edited v1" {
			return fmt.Errorf("c1 had %s", sequence)
		}
		return nil
	})
	require.NotEqual(t, applied, f.work("c1").Annotations[workv1alpha1.AnnotationAppliedAt])
	// c1 is in flight: c2 has to wait.
	f.editWork("c2", func(work *workv1.ManifestWork) { work.Spec = template("edited") })
	always(t, "c2 waits", 2*time.Second, func() error {
		if versions := f.versions(); versions["c2"] != "edited" {
			return fmt.Errorf("works: %v", versions)
		}
		return nil
	})
	f.state("AsExpected=True", "Processing=False", "NewManifestWorkAvailable=False", "Progressing=False")
	f.agentsReport("c1", "v1", succeeds)
	mwrs := f.complete()
	f.everywhere("v1")
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	require.Equal(t, []string{"v1"}, f.recorded())
	f.quiet()
}

// A work that someone edits while an abort stands goes back at once (P1).
func TestHandEditedWorkIsPutBackAfterAnAbort(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "2s", 0, abortAll))
	f.abort(hangs)
	f.everywhere("v1")
	for _, cluster := range []string{"c1", "c2"} {
		f.editWork(cluster, func(work *workv1.ManifestWork) { work.Spec = template("v2") })
	}
	f.everywhere("v1")
	f.aborted()
	f.quiet()
}

// The hash label is the hub's: one that is changed or taken away is put back.
func TestHashLabelIsPutBack(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "20s", 0))
	f.editWork("c1", func(work *workv1.ManifestWork) { work.Labels[workv1alpha1.LabelControllerHash] = "other" })
	f.editWork("c2", func(work *workv1.ManifestWork) { delete(work.Labels, workv1alpha1.LabelControllerHash) })
	eventually(t, "the labels are back", func() error {
		for _, cluster := range f.clusters {
			if label := f.work(cluster).Labels[workv1alpha1.LabelControllerHash]; label != f.hash("v1") {
				return fmt.Errorf("%s has %q", cluster, label)
			}
		}
		return nil
	})
	f.complete()
	f.quiet()
	require.Equal(t, map[string]int64{"c1": 1, "c2": 1}, f.generations(), "nothing happens on the clusters")
}

func TestWorkThatIsDeletedByHandIsMadeAnew(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "20s", 0))
	old := f.work("c1")
	require.NoError(t, f.w.works.WorkV1().ManifestWorks(old.Namespace).Delete(t.Context(), old.Name, metav1.DeleteOptions{}))
	eventually(t, "a new work", func() error {
		for _, work := range f.works() {
			if work.Namespace == old.Namespace && work.UID != old.UID {
				return nil
			}
		}
		return fmt.Errorf("there is none")
	})
	f.everywhere("v1")
	f.complete()
	f.quiet()
}

// R9: a name may hold dots, the owner label is split at its first.
func TestNameWithDots(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.name = "web.example.com"
	f.place("p1", []string{"c1", "c2"})
	f.create("v1", ref("p1", progressive(1, "2s", 0, abortAll)))
	f.complete()
	f.abort(hangs)
	f.everywhere("v1")
	require.Equal(t, "web.example.com", f.work("c1").Name)
	f.quiet()
	f.delete()
	f.gone()
}

// R9: where another owner has the name, there is another one, and it is always the same.
func TestNameThatAnotherOwnerHas(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	foreign := &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Name: f.name, Labels: map[string]string{workv1alpha1.LabelReplicaSet: "elsewhere." + f.name}},
		Spec:       template("foreign"),
	}
	foreign, err := f.w.works.WorkV1().ManifestWorks(f.cluster("c1")).Create(t.Context(), foreign, metav1.CreateOptions{})
	require.NoError(t, err)
	f.place("p1", []string{"c1", "c2"})
	f.create("v1", ref("p1", all("20s", 0)))
	f.complete()
	f.everywhere("v1")
	require.Equal(t, f.name, f.work("c2").Name)
	name := f.work("c1").Name
	require.Regexp(t, "^"+f.name+"-.+$", name)
	f.update("v2")
	f.complete()
	f.quiet()
	require.Equal(t, name, f.work("c1").Name)

	// Made again it has the same name.
	deleted := f.work("c1").UID
	require.NoError(t, f.w.works.WorkV1().ManifestWorks(f.cluster("c1")).Delete(t.Context(), name, metav1.DeleteOptions{}))
	eventually(t, "it is made anew", func() error {
		again, err := f.w.works.WorkV1().ManifestWorks(f.cluster("c1")).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if again.UID == deleted {
			return errors.New("it is still the old one")
		}
		return nil
	})
	f.everywhere("v2")
	f.complete()

	f.delete()
	f.gone()
	untouched, err := f.w.works.WorkV1().ManifestWorks(f.cluster("c1")).Get(t.Context(), f.name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, foreign.UID, untouched.UID)
	require.Equal(t, foreign.Generation, untouched.Generation)
	require.Nil(t, untouched.DeletionTimestamp)
}

// R9: the labels of the ManifestWorkReplicaSet are copied, followed, and taken away; the agents see nothing of it.
func TestLabelsAreCopiedToTheWorks(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1", "c2"})
	f.create("v1", ref("p1", progressive(1, "20s", 0)))
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Labels = map[string]string{"team": "a", "tier": "web"}
	})
	f.complete()
	f.labelled(map[string]string{"team": "a", "tier": "web"})
	f.editWork("c1", func(work *workv1.ManifestWork) { work.Labels["own"] = "mine" })
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Labels = map[string]string{"team": "b"} })
	f.labelled(map[string]string{"team": "b", "tier": ""})
	require.Equal(t, "mine", f.work("c1").Labels["own"], "what others put there stays")
	f.complete()
	f.quiet()
	require.Equal(t, map[string]int64{"c1": 1, "c2": 1}, f.generations())
	require.Equal(t, []string{"v1"}, f.recorded())
}

// labelled waits until every work has these labels; an empty value stands for none.
func (f *fleet) labelled(labels map[string]string) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("the labels %v", labels), func() error {
		for _, cluster := range f.clusters {
			work := f.work(cluster)
			for key, value := range labels {
				if work.Labels[key] != value {
					return fmt.Errorf("%s has %v", cluster, work.Labels)
				}
			}
		}
		return nil
	})
}

// R17: a work that ran to completion takes no new revision, is not counted as failed, and is named.
func TestCompletedWorkTakesNoNewRevision(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "2s", 0, abortAll))
	f.agentsReport("c1", "", silent)
	work := f.work("c1")
	work.Status.Conditions = append(work.Status.Conditions, metav1.Condition{
		Type: workv1.WorkComplete, Status: metav1.ConditionTrue, Reason: "Simulated", ObservedGeneration: work.Generation, LastTransitionTime: metav1.Now(),
	})
	_, err := f.w.works.WorkV1().ManifestWorks(work.Namespace).UpdateStatus(t.Context(), work, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.update("v2")
	f.has("c2", "v2")
	mwrs := f.stalled()
	require.Nil(t, mwrs.Status.AbortedTime)
	require.Contains(t, message(mwrs, workv1alpha1.ConditionProgressing), f.cluster("c1"))
	require.Contains(t, message(mwrs, workv1alpha1.ConditionProgressing), "completed")
	f.quiet()
}

// R9: a work that lost its owner label gets it back, and its cluster never has a second one.
func TestOwnerLabelIsPutBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.place("p1", []string{"c1", "c2"})
	f.create("v1", ref("p1", progressive(1, "20s", 0)))
	f.complete()
	before := f.work("c1")
	f.editWork("c1", func(work *workv1.ManifestWork) { delete(work.Labels, workv1alpha1.LabelReplicaSet) })
	eventually(t, "the owner label is back", func() error {
		list, err := f.w.works.WorkV1().ManifestWorks(f.cluster("c1")).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		require.Len(t, list.Items, 1, "there is a second work")
		if list.Items[0].Labels[workv1alpha1.LabelReplicaSet] == "" {
			return errors.New("it has none")
		}
		return nil
	})
	f.complete()
	f.quiet()
	require.Equal(t, before.UID, f.work("c1").UID)
	require.Equal(t, before.Generation, f.work("c1").Generation)
	f.delete()
	f.gone()
}

// R9: works of others that have the first two names keep nobody out.
func TestThirdName(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.place("p1", []string{"c1"})
	works := f.w.works.WorkV1().ManifestWorks(f.cluster("c1"))
	names := work.Names(&metav1.ObjectMeta{Namespace: f.namespace, Name: f.name})
	for _, name := range names[:2] {
		taken := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: template("foreign")}
		_, err := works.Create(t.Context(), taken, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	f.create("v1", ref("p1", all("20s", 0)))
	f.complete()
	f.quiet()
	require.Equal(t, f.name+"-"+string(f.get().UID), f.work("c1").Name)
	f.delete()
	f.gone()
	for _, name := range names[:2] {
		_, err := works.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
	}
}
