package view_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestViewsChangeNoWorks: the requests of a dashboard show the same objects at the same time, so a view must not write to the works.
func TestViewsChangeNoWorks(t *testing.T) {
	o := objects(t, func(o *view.Objects) { o.Works = []work.Work{succeeding(t, "c1", "v2"), written(t, "c2", "v1")} })
	before := slices.Clone(o.Works)
	view.FleetOf(o)
	_, err := view.Why(o, "c1")
	require.NoError(t, err)
	require.Equal(t, before, o.Works)
}

// TestCopiedWork: a work that a user copied, with its labels, does not count as another cluster, as it does not for the hub.
func TestCopiedWork(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		copied := succeeding(t, "c1", "v2")
		copied.Object.Name = "a-copy"
		o.Works = []work.Work{succeeding(t, "c1", "v2"), copied}
	})
	require.Contains(t, view.EffectOf(o, view.VerbAbort, nil, nil).Then, "to 1 cluster that has revision 2")
}

// TestWhyARestorationIsRejected: after the abort, the rejected revision is the one to which it returns.
func TestWhyARestorationIsRejected(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		o.Works = []work.Work{written(t, "c1", "v2"), written(t, "c2", "v2")}
		status := &o.ReplicaSet.Status
		at := metav1.NewTime(o.Now)
		status.AbortedTime = &at
		before := metav1.NewTime(o.Now.Add(-time.Minute))
		status.Rejections = []workv1alpha1.ClusterFailure{{Cluster: "c1", Since: at, Message: "denied"}, {Cluster: "c2", Since: before, Message: "denied"}}
	})
	for cluster, want := range map[string]string{"c1": "rejected revision 1: denied", "c2": "rejected revision 2: denied"} {
		story, err := view.Why(o, cluster)
		require.NoError(t, err)
		require.Contains(t, fmt.Sprint(story), want)
	}
}
