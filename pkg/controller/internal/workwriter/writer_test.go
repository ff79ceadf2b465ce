package workwriter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/internal/worktest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
	"github.com/open-cluster-management-io/work-rollback/pkg/workpatch"
)

// A work that was deleted since the cache showed it is looked up again. An API server that does not know the kind returns a lasting
// error.
func TestPatchOfWhatIsGone(t *testing.T) {
	works := workv1.Resource("manifestworks")
	for name, test := range map[string]struct {
		answer            error
		conflict, lasting bool
	}{
		"the work is gone":                      {answer: apierrors.NewNotFound(works, "web"), conflict: true},
		"the API server does not know the kind": {answer: apierrors.NewGenericServerResponse(404, "patch", works, "web", "404 page not found", 0, true), lasting: true},
	} {
		t.Run(name, func(t *testing.T) {
			client := worktest.Answering("patch", func(clienttesting.Action) (*workv1.ManifestWork, error) { return nil, test.answer })
			object := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "web"}}
			_, err := at(client, false).Write(t.Context(), ours(nil), &rollout.Write{Owner: rt.OwnerMetadata(),
				Action: rollout.Relabel, Cluster: "c1", Work: &work.Work{Object: object},
			})
			require.Equal(t, test.conflict, apierrors.IsConflict(err), err)
			require.Equal(t, test.lasting, memory.IsLasting(err), err)
		})
	}
}

// A change to the spec is written as a whole if a patch would be no shorter, because the driver then has nothing to decode. All other
// changes are patches.
func TestWholeWorks(t *testing.T) {
	work := workOf("c1", "aaa")
	work.Object.UID, work.Object.ResourceVersion = "uid", "7"
	work.Object.Labels["theirs"] = "x"
	client := worktest.Client(work.Object.DeepCopy())
	w, owner := at(client, true), ours(nil)
	workcache.Trim(work.Object, "a digest")
	_, err := w.Write(t.Context(), owner, &rollout.Write{Owner: rt.OwnerMetadata(), Action: rollout.Relabel, Cluster: "c1", Work: work})
	require.NoError(t, err)
	require.Equal(t, 1, worktest.Asked(client, "patch"))

	update := rt.Revision("bbb")
	_, err = w.Write(t.Context(), owner, &rollout.Write{Owner: rt.OwnerMetadata(), Action: rollout.Update, Cluster: "c1", Work: work, Revision: update})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{worktest.Asked(client, "patch"), worktest.Asked(client, "update")})
	written := client.Actions()[1].(clienttesting.UpdateAction).GetObject().(*workv1.ManifestWork)
	require.Equal(t, *update.Template, written.Spec)
	require.Equal(t, "bbb", written.Labels[workv1alpha1.LabelControllerHash])
	require.Equal(t, "x", written.Labels["theirs"], "labels of others stay")
	require.Equal(t, rt.Epoch.UTC().Format(time.RFC3339Nano), written.Annotations[workv1alpha1.AnnotationAppliedAt])
	require.NotContains(t, written.Annotations, workpatch.AnnotationCacheDigest)
	require.Equal(t, []any{"uid", "7"}, []any{string(written.UID), written.ResourceVersion}, "R15")
	_, cached := workcache.TrimmedDigest(work.Object)
	require.True(t, cached, "the object in the cache is unchanged")
}

// A work that was deleted since the cache showed it is looked up again.
func TestWholeWorkOfWhatIsGone(t *testing.T) {
	update := rt.Revision("bbb")
	_, err := at(worktest.Client(), true).Write(t.Context(), ours(nil), &rollout.Write{Owner: rt.OwnerMetadata(), Action: rollout.Update, Cluster: "c1", Work: workOf("c1", "aaa"), Revision: update})
	require.True(t, apierrors.IsConflict(err), err)
}
