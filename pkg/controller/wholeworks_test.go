package controller

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	rt "github.com/open-cluster-management-io/work-rollback/pkg/rollout/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

// awayAgents are those of a broker that may be away.
type awayAgents struct{ reachable bool }

func (a *awayAgents) HeardSince(string) (time.Time, bool) { return rt.Epoch, true }
func (a *awayAgents) Reachable() bool                     { return a.reachable }

func (a *awayAgents) Claimed(string, func(cluster, name string) bool) []string { return nil }

// updatingWorks is a client by which works are written whole.
type updatingWorks struct {
	fakeWorks
	updated []*workv1.ManifestWork
}

func (u *updatingWorks) WorkV1() workv1client.WorkV1Interface { return u }

func (u *updatingWorks) ManifestWorks(string) workv1client.ManifestWorkInterface { return u }

func (u *updatingWorks) Update(_ context.Context, work *workv1.ManifestWork, _ metav1.UpdateOptions) (*workv1.ManifestWork, error) {
	u.updated = append(u.updated, work)
	return work, nil
}

// goneWorks has none.
type goneWorks struct{ fakeWorks }

func (g goneWorks) WorkV1() workv1client.WorkV1Interface { return g }

func (g goneWorks) ManifestWorks(string) workv1client.ManifestWorkInterface { return g }

func (goneWorks) Update(_ context.Context, work *workv1.ManifestWork, _ metav1.UpdateOptions) (*workv1.ManifestWork, error) {
	return nil, apierrors.NewNotFound(workv1.Resource("manifestworks"), work.Name)
}

func workOf(cluster, hash string) *rollout.Work {
	work := rt.Work(cluster, rt.Bears(hash))
	return &work
}

func brokerPass(writes ...rollout.Write) *pass {
	p := &pass{
		key: "ns/web", now: rt.Epoch, object: &replicaSet{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{}},
		snapshot: &rollout.Snapshot{Owner: rt.Owner}, plan: &rollout.Plan{}, update: rt.Revision("bbb"),
	}
	p.plan.Desired, p.plan.Writes = rt.Revision("bbb"), writes
	return p
}

// While the broker is away no write is tried, no error is logged for each cluster, and the condition says what happens next.
func TestNothingIsWrittenWhileTheBrokerIsAway(t *testing.T) {
	client := fakeWorks{
		create: func(*workv1.ManifestWork) (*workv1.ManifestWork, error) { panic("a create was tried") },
		patch:  func(string, string) (*workv1.ManifestWork, error) { panic("a patch was tried") },
	}
	r := &deployReconciler{NewWithStores(Config{
		Works: client, Agents: &awayAgents{}, WholeWorks: true, Clock: clocktesting.NewFakeClock(rt.Epoch),
	}, NewStores())}
	p := brokerPass(
		rollout.Write{Action: rollout.Create, Cluster: "c1", Revision: rt.Revision("bbb")},
		rollout.Write{Action: rollout.Relabel, Cluster: "c2", Work: workOf("c2", "bbb")},
	)
	p.plan.Deletes = []rollout.Delete{{Work: workOf("c3", "bbb")}}
	require.NoError(t, r.act(t.Context(), p), "no error for the queue to log and to back off from")
	require.Equal(t, []string{
		"the broker is not connected; 3 ManifestWorks will be written when it is back; check the broker and --work-driver-config",
	}, p.problems)
	require.Equal(t, awayInterval, p.recheck)

	// The deletion of the owner waits too, and its finalizer stays (R18).
	p = brokerPass()
	done, err := (&finalizeReconciler{r.Controller}).deleteAll(t.Context(), p, []*workv1.ManifestWork{workOf("c1", "bbb").Object})
	require.NoError(t, err)
	require.False(t, done)
	require.Equal(t, awayInterval, p.recheck)
}

// A change of the spec is written whole where a patch would be no shorter: the driver needs to decode nothing. All else is a patch.
func TestWholeWorks(t *testing.T) {
	client := &updatingWorks{}
	patched := 0
	client.patch = func(namespace, name string) (*workv1.ManifestWork, error) {
		patched++
		return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, nil
	}
	r := &deployReconciler{NewWithStores(Config{Works: client, WholeWorks: true, Clock: clocktesting.NewFakeClock(rt.Epoch)}, NewStores())}
	work := workOf("c1", "aaa")
	work.Object.UID, work.Object.ResourceVersion = "uid", "7"
	work.Object.Labels["theirs"] = "x"
	workcache.Trim(work.Object, "a digest")
	p := brokerPass()
	_, err := r.patch(t.Context(), p, &rollout.Write{Action: rollout.Relabel, Cluster: "c1", Work: work})
	require.NoError(t, err)
	require.Equal(t, 1, patched)

	update := rt.Revision("bbb")
	_, err = r.patch(t.Context(), p, &rollout.Write{Action: rollout.Update, Cluster: "c1", Work: work, Revision: update})
	require.NoError(t, err)
	require.Equal(t, 1, patched)
	require.Len(t, client.updated, 1)
	written := client.updated[0]
	require.Equal(t, *update.Template, written.Spec)
	require.Equal(t, "bbb", written.Labels[workv1alpha1.LabelControllerHash])
	require.Equal(t, "x", written.Labels["theirs"], "what others put on the work stays")
	require.Equal(t, rt.Epoch.UTC().Format(timeFormat), written.Annotations[workv1alpha1.AnnotationAppliedAt])
	require.NotContains(t, written.Annotations, workpatch.AnnotationCacheDigest)
	require.Equal(t, []any{"uid", "7"}, []any{string(written.UID), written.ResourceVersion}, "R15")
	_, cached := workcache.TrimmedDigest(work.Object)
	require.True(t, cached, "the cache's own object is left alone")
}

// A work that was deleted since the cache showed it is looked for again.
func TestWholeWorkOfWhatIsGone(t *testing.T) {
	r := &deployReconciler{NewWithStores(Config{Works: goneWorks{}, WholeWorks: true, Clock: clocktesting.NewFakeClock(rt.Epoch)}, NewStores())}
	update := rt.Revision("bbb")
	_, err := r.patch(t.Context(), brokerPass(), &rollout.Write{Action: rollout.Update, Cluster: "c1", Work: workOf("c1", "aaa"), Revision: update})
	require.True(t, apierrors.IsConflict(err), err)
}
