package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

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
