package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/internal/worktest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/connectivity"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/revisionwriter"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// slow returns 100 works of an owner in a cache, and a client of an API server that takes 100 ms to delete each.
func slow(t *testing.T) (c *Controller, p *pass, clk *clocktesting.FakeClock, deleted map[string]int) {
	t.Helper()
	clk, deleted = clocktesting.NewFakeClock(time.Unix(1000, 0)), map[string]int{}
	stores := NewStores()
	works := worktest.Answering("delete", func(action clienttesting.Action) (*workv1.ManifestWork, error) {
		deleted[action.GetNamespace()]++
		clk.Step(100 * time.Millisecond)
		return nil, nil
	})
	c = NewWithStores(Config{Works: works, Clock: clk, Connection: connectivity.New(clk), Writers: 1, Dynamic: storing()}, stores)
	for i := range 100 {
		require.NoError(t, stores.Works.Add(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("c%02d", i), Name: "web", UID: types.UID(fmt.Sprint(i)),
			Labels: map[string]string{workv1alpha1.LabelReplicaSet: "default.web"},
		}}))
	}
	now := metav1.NewTime(clk.Now())
	object := &replicaset.Object{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "web", DeletionTimestamp: &now, Finalizers: []string{workv1alpha1.Finalizer},
	}}}
	p = c.newPass(object, "default/web")
	p.works = worksIn(c)
	return c, p, clk, deleted
}

// worksIn returns the works in the cache, in order.
func worksIn(c *Controller) (works []*workv1.ManifestWork) {
	for _, object := range c.stores.Works.List() {
		works = append(works, object.(*workv1.ManifestWork))
	}
	slices.SortFunc(works, compareWorks)
	return works
}

// storing is a client of an API server that accepts every patch of a ManifestWorkReplicaSet and rejects all other requests.
func storing() *dynamicfake.FakeDynamicClient {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		workv1alpha1.ManifestWorkReplicaSetResource: "ManifestWorkReplicaSetList",
	})
	client.PrependReactor("patch", "manifestworkreplicasets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		answer := &unstructured.Unstructured{}
		return true, answer, answer.UnmarshalJSON(append(
			[]byte(`{"apiVersion":"work.open-cluster-management.io/v1alpha1","kind":"ManifestWorkReplicaSet",`), action.(clienttesting.PatchAction).GetPatch()[1:]...))
	})
	return client
}

// TestDeletionTakesTurns: the deletion of an object with many works holds a worker no longer than a rollout does. The next pass
// continues, and the finalizer stays until all works are deleted.
func TestDeletionTakesTurns(t *testing.T) {
	c, p, clk, deleted := slow(t)
	began := clk.Now()
	goOn, err := c.finalize(t.Context(), p)
	require.NoError(t, err)
	require.False(t, goOn)
	require.Len(t, deleted, 6, "half a second, and the request in progress")
	require.Equal(t, 600*time.Millisecond, clk.Since(began))
	require.Equal(t, time.Millisecond, p.recheck, "the next pass continues")
	require.True(t, p.wrote.Load(), "without a rest")
	require.Equal(t, workv1alpha1.StateDeleting, p.answer.Status.State, "users see the deletion")

	for range 20 {
		for cluster := range deleted {
			require.NoError(t, c.stores.Works.Delete(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: "web"}}))
		}
		_, err = c.deleteAll(t.Context(), c.newPass(p.object, p.key), worksIn(c))
		require.NoError(t, err)
	}
	require.Len(t, deleted, 100)
	for cluster, times := range deleted {
		require.Equal(t, 1, times, cluster)
	}
}

// TestPassesAreShort: a pass deletes for half a second, or longer if the decision took long, but for at most 2 seconds plus one request.
// The next pass does the rest, and no error is reported.
func TestPassesAreShort(t *testing.T) {
	for decided, want := range map[time.Duration]int{0: 6, 50 * time.Millisecond: 11, time.Second: 21, time.Hour: 21} {
		c, p, clk, deleted := slow(t)
		p.Plan, p.Snapshot = &rollout.Plan{}, &rollout.Snapshot{}
		for _, w := range worksIn(c) {
			p.Plan.Deletes = append(p.Plan.Deletes, rollout.Delete{Work: &work.Work{Object: w}})
		}
		clk.Step(decided)
		require.NoError(t, c.act(t.Context(), p))
		require.Len(t, deleted, want, decided)
		require.Equal(t, time.Millisecond, p.recheck)
	}
}

// TestWritesAndDeletesShareABudget: a pass deletes after it writes, within the same time budget. With a budget of their own, the
// deletions would hold the worker for twice as long and delay the next writes of an abort (P8).
func TestWritesAndDeletesShareABudget(t *testing.T) {
	clk, asked := clocktesting.NewFakeClock(rt.Epoch), map[string]int{}
	client := worktest.Answering("*", func(action clienttesting.Action) (*workv1.ManifestWork, error) {
		asked[action.GetVerb()]++
		clk.Step(100 * time.Millisecond)
		if create, ok := action.(clienttesting.CreateAction); ok {
			return create.GetObject().(*workv1.ManifestWork), nil
		}
		return nil, nil
	})
	p := brokerPass()
	for i := range 10 {
		p.Plan.Writes = append(p.Plan.Writes, rollout.Write{Owner: rt.OwnerMetadata(), Action: rollout.Create, Cluster: fmt.Sprintf("c%d", i), Revision: rt.Revision("bbb")})
		p.Plan.Deletes = append(p.Plan.Deletes, rollout.Delete{Work: workOf(fmt.Sprintf("d%d", i), "bbb")})
	}
	c := NewWithStores(Config{Works: client, Clock: clk, Writers: 1}, NewStores())
	require.NoError(t, c.act(t.Context(), p))
	require.Equal(t, map[string]int{"create": 6}, asked, "half a second, and the request in progress")
	require.Equal(t, time.Millisecond, p.recheck, "the next pass does the rest")
}

// TestAbortsWriteLonger: a pass of an abort has 2 seconds from the start. A request that fails in the meantime does not change this.
func TestAbortsWriteLonger(t *testing.T) {
	for l, want := range map[queue.Lane]time.Duration{queue.Rollouts: actBudget, queue.Aborts: actBudgetMost} {
		c, p, clk, _ := slow(t)
		p.turn.Lane = l
		left := c.budget(p)
		clk.Step(want)
		require.True(t, left())
		clk.Step(time.Millisecond)
		require.False(t, left())
	}
}

// TestAbortsGoOnAlone: a pass of an abort continues for 5 seconds, unless another abort waits for a worker or the object has changed.
func TestAbortsGoOnAlone(t *testing.T) {
	c, p, clk, _ := slow(t)
	p.turn.Lane = queue.Aborts
	require.NoError(t, c.stores.ReplicaSets.Add(p.object))
	waits := false
	c.abortsWait = func() bool { return waits }

	left := c.budget(p)
	clk.Step(actBudgetMost + time.Millisecond)
	require.True(t, left())
	waits = true
	require.False(t, left(), "another abort waits")
	waits = false

	changed := *p.object
	changed.ManifestWorkReplicaSet = p.object.DeepCopy()
	changed.ResourceVersion = "2"
	require.NoError(t, c.stores.ReplicaSets.Update(&changed))
	require.False(t, left(), "the object has changed")

	require.NoError(t, c.stores.ReplicaSets.Update(p.object))
	clk.SetTime(p.now.Add(actBudgetAlone))
	require.True(t, left())
	clk.Step(time.Millisecond)
	require.False(t, left())
}

// TestPruningTakesTurns: if revisionHistoryLimit is lowered, the old revisions are deleted over several passes, oldest first (R5, P8).
func TestPruningTakesTurns(t *testing.T) {
	c, p, clk, _ := slow(t)
	var deleted []string
	kube := fake.NewClientset()
	kube.PrependReactor("delete", "controllerrevisions", func(action clienttesting.Action) (bool, runtime.Object, error) {
		deleted = append(deleted, action.(clienttesting.DeleteAction).GetName())
		clk.Step(100 * time.Millisecond)
		return true, nil, nil
	})
	c.revisions, c.Recorder = revisionwriter.New(kube), events.NewFakeRecorder(100)
	p.object.Spec.RevisionHistoryLimit = new(int32)
	p.Update, p.Plan = &work.Revision{}, &rollout.Plan{}
	for i := range 30 {
		p.history.Revisions = append(p.history.Revisions, revision.Revision{Hash: fmt.Sprint(i), Object: &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%02d", i), UID: types.UID(fmt.Sprint(i))},
		}})
	}
	goOn, err := c.prune(t.Context(), p)
	require.NoError(t, err)
	require.True(t, goOn)
	require.Equal(t, []string{"web-00", "web-01", "web-02", "web-03", "web-04", "web-05"}, deleted, "half a second, and the request in progress")
	require.Equal(t, time.Millisecond, p.recheck, "the next pass continues")
	require.True(t, p.wrote.Load(), "without a rest")
}
