package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
)

// startHashing runs a manager with or without --owner-key-hash.
func (w *world) startHashing(t *testing.T, on bool) (stop func()) {
	t.Helper()
	options := hub.NewOptions()
	options.SuccessSettle, options.OwnerKeyHash = settle, on
	return w.startManagerWith(t.Context(), options, clock.RealClock{})
}

// marked waits until each work has these labels of its owner, and the annotation.
func (f *fleet) marked(old, hashed bool) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("the works of %s are found by the old label (%v) and by the new one (%v)", f.name, old, hashed), func() error {
		works := f.works()
		if len(works) != len(f.clusters) {
			return fmt.Errorf("%d works", len(works))
		}
		for i := range works {
			_, labelled := works[i].Labels[workv1alpha1.LabelReplicaSet]
			hash, owner := works[i].Labels[workv1alpha1.LabelOwnerHash], works[i].Annotations[workv1alpha1.AnnotationOwner]
			if labelled != old || (hash != "") != hashed || hashed && (hash != workv1alpha1.OwnerHash(f.namespace, f.name) || owner != f.namespace+"/"+f.name) {
				return fmt.Errorf("%s: %v, %v", works[i].Namespace, works[i].Labels, works[i].Annotations)
			}
		}
		return nil
	})
}

// onlyHashed removes the old label from each work, so that the work is as a hub with ocm#1684 writes it.
func (f *fleet) onlyHashed() {
	f.t.Helper()
	works := f.works()
	for i := range works {
		works[i].Labels = map[string]string{
			workv1alpha1.LabelOwnerHash: workv1alpha1.OwnerHash(f.namespace, f.name), workv1alpha1.LabelPlacement: "p1",
		}
		works[i].Annotations = map[string]string{workv1alpha1.AnnotationOwner: f.namespace + "/" + f.name}
		_, err := f.w.works.WorkV1().ManifestWorks(works[i].Namespace).Update(f.t.Context(), &works[i], metav1.UpdateOptions{})
		require.NoError(f.t, err)
	}
}

// The flag --owner-key-hash: with it, an object with a long name rolls out and aborts, and its works are adopted from a hub that writes
// only the new label. Switching the flag on and off writes nothing to the clusters of an object with a short name. Without the flag, works
// with only the new label are found, too: works of an object with a short name get the old label back, and works of an object with a long
// name are deleted with the object.
func TestOwnerKeyHash(t *testing.T) {
	t.Parallel()
	w := privateWorld(t, "ownerkey")
	require.NoError(t, w.simulateAgents(context.WithoutCancel(t.Context())))
	long, short := newFleetIn(w, t, 2), newFleetIn(w, t, 0)
	long.name = strings.Repeat("n", 60)
	short.clusters = long.clusters
	long.place("p1", long.clusters)

	stop := w.startHashing(t, false)
	defer func() { stop() }()
	long.create("v1", ref("p1", progressive(1, "3s", 0, abortAll)))
	short.create("v1", ref("p1", progressive(1, "20s", 0, abortAll)))
	short.complete()
	short.marked(true, false)
	long.says(workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ReasonInvalidManifestWorkName, "63")
	require.Empty(t, long.works())
	before := short.generations()
	stop()

	stop = w.startHashing(t, true)
	long.complete()
	long.everywhere("v1")
	long.marked(false, true)
	short.marked(true, true)
	short.complete()
	require.Equal(t, before, short.generations(), "only labels changed")
	long.abort(hangs)
	long.everywhere("v1")
	long.update("v3")
	long.complete()
	require.Equal(t, []string{"v1", "v1", "v2", "v3"}, long.recorded(), "one is of the short name")
	require.Contains(t, long.ok("get", long.name), "Complete")
	require.Contains(t, long.ok("history", long.name), "Archived")
	long.quiet()
	stop()

	long.onlyHashed()
	was := long.generations()
	stop = w.startHashing(t, true)
	eventually(t, "the works are adopted", func() error {
		for _, work := range long.works() {
			if work.Labels[workv1alpha1.LabelControllerHash] != long.hash("v3") {
				return errors.New(work.Namespace)
			}
		}
		return nil
	})
	long.complete()
	long.quiet()
	require.Equal(t, was, long.generations(), "nothing was written to a cluster")
	stop()

	short.editWork("c1", func(work *workv1.ManifestWork) { delete(work.Labels, workv1alpha1.LabelReplicaSet) })
	stop = w.startHashing(t, false)
	short.marked(true, true)
	short.complete()
	short.quiet()
	require.Equal(t, before, short.generations())
	long.says(workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ReasonInvalidManifestWorkName, "63")
	require.Len(t, long.works(), 2, "they stay")
	long.delete()
	eventually(t, "the works are gone", func() error {
		if works := long.works(); len(works) > 0 {
			return fmt.Errorf("%d works", len(works))
		}
		return nil
	})
}
