package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// A pass that is paused, or has no revision to return to, restores nothing. It therefore leaves no abort to a worker reserved for aborts.
func TestPassesThatLeaveNoAbort(t *testing.T) {
	p := &pass{observed: observed{object: &replicaset.Object{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{}}}, done: done{unrestored: true}}
	require.Equal(t, memory.AbortUnderWay, p.abortLeft())
	p.Snapshot = &rollout.Snapshot{Aborted: true}
	require.Equal(t, memory.AbortStuck, p.abortLeft())
	p.Snapshot.Current = &work.Revision{}
	require.Equal(t, memory.AbortUnderWay, p.abortLeft())
	p.object.Spec.Paused = true
	require.Equal(t, memory.NoAbort, p.abortLeft())
}

// The conditions of every object report whether the hub has permission to read ManagedClusters, and whether another hub is installed. If
// either changes, each object gets a pass, even if there are no ManagedClusters.
func TestNotesAreFollowed(t *testing.T) {
	const refused = "the hub has no permission to read ManagedClusters"
	for name, tc := range map[string]struct {
		before, now, hub string
		queued           bool
	}{
		"it has the permission":    {},
		"it lacks the permission":  {before: refused, now: refused},
		"it gets the permission":   {before: refused, queued: true},
		"it loses it":              {now: refused, queued: true},
		"another hub is installed": {hub: "two hubs", queued: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewWithStores(Config{
				ClustersNote: func() string { return tc.now }, HubNote: func() string { return tc.hub },
			}, Stores{ReplicaSets: cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)})
			require.NoError(t, c.stores.ReplicaSets.Add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}))
			r := &Runner{controller: c, notes: [2]string{tc.before}, queue: queue.New("test", func(string) queue.Lane { return queue.Rollouts }, nil)}
			r.followNotes(t.Context())
			require.Equal(t, tc.queued, r.queue.Waiting(queue.Rollouts))
			r.followNotes(t.Context())
			require.Equal(t, [2]string{tc.now, tc.hub}, r.notes)
		})
	}
}
