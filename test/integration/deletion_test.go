package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// R18: everything goes; Background does not wait for the works, Foreground does.
func TestDeletion(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]upstream.CascadeDeletionPolicy{"background": upstream.Background, "foreground": upstream.Foreground} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 2)
			f.place("p1", []string{"c1", "c2"})
			f.create("v1", ref("p1", progressive(1, "20s", 0)))
			f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.CascadeDeletionPolicy = policy })
			f.complete()
			f.agentsReport("c1", "", silent)
			f.delete()
			f.leaving("c1")
			stillThere := func() bool {
				_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Get(t.Context(), f.name, metav1.GetOptions{})
				if !apierrors.IsNotFound(err) {
					require.NoError(t, err)
				}
				return err == nil
			}
			if policy == upstream.Background {
				f.gone("c1")
			} else {
				f.never("c1", "gone", quietFor)
				require.True(t, stillThere(), "it waits for its works")
			}
			f.agentsReport("c1", "", succeeds)
			f.gone()
		})
	}
}

// One that is made again under the same name does not inherit what the first one left.
func TestDeletedAndMadeAgain(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, all("2s", 0, abortAll))
	first := f.abort(hangs)
	f.delete()
	f.gone()
	f.agentsReport("", "v2", succeeds)
	f.create("v2", ref("p1", all("2s", 0, abortAll)))
	mwrs := f.complete()
	require.NotEqual(t, first.UID, mwrs.UID)
	require.Nil(t, mwrs.Status.AbortedTime)
	require.Equal(t, []string{"v2"}, f.recorded())
	f.quiet()
}

// Made again at once, while the works of the first one are still leaving.
func TestDeletedAndMadeAgainAtOnce(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, all("20s", 0))
	f.agentsReport("c1", "", silent)
	f.delete()
	eventually(t, "it is gone", func() error {
		_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Get(t.Context(), f.name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
	f.create("v2", ref("p1", all("20s", 0)))
	f.has("c2", "v2")
	f.agentsReport("c1", "", succeeds)
	f.complete()
	f.everywhere("v2")
	f.quiet()
}
