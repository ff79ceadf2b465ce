package controller

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// templateOf returns a template with a ConfigMap of size bytes.
func templateOf(size int) (template workv1.ManifestWorkSpec) {
	raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"},"data":{"x":%q}}`, strings.Repeat("x", size))
	template.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}}
	return template
}

// The rollout of a new large template starts after the aborts of other objects, and after maxYield at the latest. Nothing else waits
// (P8).
func TestLargeTemplateWaitsForAborts(t *testing.T) {
	const key, longest = "tenant/web", 30 * time.Second
	manyConfigs := func(o *workv1alpha1.ManifestWorkReplicaSet) {
		o.Spec.ManifestWorkTemplate = templateOf(1)
		o.Spec.ManifestWorkTemplate.ManifestConfigs = make([]workv1.ManifestConfigOption, 500)
	}
	for name, test := range map[string]struct {
		edit  func(*workv1alpha1.ManifestWorkReplicaSet)
		known bool
		// history and aborting override the defaults: a readable history, and an abort of another object.
		history  string
		aborting string
		waits    bool
	}{
		"large":                               {waits: true},
		"large because of its configs":        {edit: manyConfigs, waits: true},
		"small":                               {edit: func(o *workv1alpha1.ManifestWorkReplicaSet) { o.Spec.ManifestWorkTemplate = templateOf(1000) }},
		"paused":                              {edit: func(o *workv1alpha1.ManifestWorkReplicaSet) { o.Spec.Paused = true }},
		"its rollout is in progress":          {edit: func(o *workv1alpha1.ManifestWorkReplicaSet) { o.Status.ObservedGeneration = o.Generation }},
		"a revision with the template exists": {known: true},
		"there is no history":                 {history: "no permission"},
		"only the object itself writes":       {aborting: key},
		"it is being deleted": {edit: func(o *workv1alpha1.ManifestWorkReplicaSet) {
			o.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}},
		"its own rollout was aborted": {edit: func(o *workv1alpha1.ManifestWorkReplicaSet) {
			o.Status.AbortedTime = &metav1.Time{Time: time.Unix(1, 0)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakeClock(time.Unix(1000, 0))
			stores := NewStores()
			c := NewWithStores(Config{Clock: clk, HistoryNote: func() string { return test.history }}, stores)
			abort := queue.Turn{Lane: queue.Aborts, Key: cmp.Or(test.aborting, "other/web")}
			object := &replicaset.Object{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "web", UID: "u", Generation: 2},
			}}
			object.Spec.ManifestWorkTemplate = templateOf(100 << 10)
			if test.edit != nil {
				test.edit(object.ManifestWorkReplicaSet)
			}
			require.NoError(t, stores.ReplicaSets.Add(object))
			if test.known {
				known, err := revision.New(object.ManifestWorkReplicaSet, &object.Spec.ManifestWorkTemplate, "1", 1)
				require.NoError(t, err)
				require.NoError(t, stores.Revisions.Add(known))
			}
			require.Zero(t, c.yields(key, object, c.owners.OwnerOf(key, "u")), "no abort is in progress")
			if object.Generation != object.Status.ObservedGeneration {
				object.Generation++
			}

			c.slots.Take(abort)
			if !test.waits {
				require.Zero(t, c.yields(key, object, c.owners.OwnerOf(key, "u")))
				return
			}
			waits := func() {
				t.Helper()
				again, err := c.Sync(t.Context(), key)
				require.NoError(t, err)
				require.Equal(t, time.Second, again)
			}
			for i := range int(longest / time.Second) {
				if i == 10 {
					object.Generation++ // Another edit does not restart the wait.
				}
				waits()
				clk.Step(time.Second)
			}
			require.Zero(t, c.yields(key, object, c.owners.OwnerOf(key, "u")), "it has waited long enough")
			clk.Step(time.Hour)
			require.Zero(t, c.yields(key, object, c.owners.OwnerOf(key, "u")), "once")

			object.Generation++
			waits()
			c.slots.Give(abort)
			clk.Step(time.Minute)
			require.Zero(t, c.yields(key, object, c.owners.OwnerOf(key, "u")), "the abort has ended")
			c.slots.Take(abort)
			require.Zero(t, c.yields(key, object, c.owners.OwnerOf(key, "u")), "it may continue, even during another abort")
		})
	}
}
