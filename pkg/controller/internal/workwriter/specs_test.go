package workwriter

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	workfake "open-cluster-management.io/api/client/work/clientset/versioned/fake"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/internal/worktest"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// The spec of a trimmed work is read live once for each digest. If the work has changed since, the read is a conflict.
func TestSpec(t *testing.T) {
	trimmed := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "web", UID: "uid", Generation: 3}}
	workcache.Trim(trimmed, "digest")
	live := func(change func(*workv1.ManifestWork)) *workfake.Clientset {
		return worktest.Answering("get", func(action clienttesting.Action) (*workv1.ManifestWork, error) {
			work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
				Namespace: action.GetNamespace(), Name: action.(clienttesting.GetAction).GetName(), UID: "uid", Generation: 3,
			}}
			work.Spec.Workload.Manifests = make([]workv1.Manifest, 2)
			change(work)
			return work, nil
		})
	}
	none := &revision.History{}

	client := live(func(*workv1.ManifestWork) {})
	w := at(client, false)
	for range 3 {
		spec, err := w.Spec(t.Context(), none, trimmed, "digest")
		require.NoError(t, err)
		require.Len(t, spec.Workload.Manifests, 2)
	}
	require.Equal(t, 1, worktest.Asked(client, "get"))
	whole := rt.Work("c1", rt.AtRevision("aaa"))
	spec, err := w.Spec(t.Context(), none, whole.Object, "other")
	require.NoError(t, err)
	require.Same(t, &whole.Object.Spec, spec, "the cache has it")
	require.Equal(t, 1, worktest.Asked(client, "get"))

	for name, client := range map[string]*workfake.Clientset{
		"another generation": live(func(work *workv1.ManifestWork) { work.Generation++ }),
		"another object":     live(func(work *workv1.ManifestWork) { work.UID = "other" }),
		"none":               worktest.Client(),
	} {
		_, err := at(client, false).Spec(t.Context(), none, trimmed, "digest")
		require.True(t, apierrors.IsConflict(err), name)
	}
	down := at(worktest.Answering("get", func(clienttesting.Action) (*workv1.ManifestWork, error) { return nil, errors.New("down") }), false)
	_, err = down.Spec(t.Context(), none, trimmed, "digest")
	require.EqualError(t, err, "reading ManifestWork c1/web: down")
}

// The difference between two specs is computed once, and written to each cluster.
func TestChangeIsFoundOnce(t *testing.T) {
	clusters := []string{"c1", "c2", "c3"}
	client := worktest.Client()
	for _, cluster := range clusters {
		require.NoError(t, client.Tracker().Add(&workv1.ManifestWork{
			ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: "web"}, Spec: *rt.Revision("aaa").Template,
		}))
	}
	w := at(client, false)
	for _, cluster := range clusters {
		work := &work.Work{Object: &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: "web"}}, Digest: "from"}
		workcache.Trim(work.Object, "from")
		_, err := w.Write(t.Context(), ours(nil), &rollout.Write{Owner: rt.OwnerMetadata(), Action: rollout.Update, Cluster: cluster, Work: work, Revision: rt.Revision("bbb")})
		require.NoError(t, err)
	}
	require.Equal(t, []int{1, 3}, []int{worktest.Asked(client, "get"), worktest.Asked(client, "patch")})
}
