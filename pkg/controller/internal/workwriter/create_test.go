package workwriter

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	workfake "open-cluster-management.io/api/client/work/clientset/versioned/fake"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/internal/worktest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

var manifestworks = workv1.Resource("manifestworks")

// namespace is the namespace of a cluster. It maps the names of its works to their labels. Each work has the annotation of ns/web.
type namespace map[string]map[string]string

func (n namespace) client() *workfake.Clientset {
	var works []runtime.Object
	for name, labels := range n {
		works = append(works, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: "c1", Name: name, Labels: labels, Annotations: map[string]string{
				workv1alpha1.AnnotationAppliedAt: "2026-01-02T03:00:00Z", workv1alpha1.AnnotationOwner: "ns/web",
			},
		}})
	}
	return worktest.Client(works...)
}

// A work is created under the first name that no other object has. If the owner has a work that the cache does not show, it is found, and
// no second one is created.
func TestCreate(t *testing.T) {
	names := work.Names(ours(nil).Object)
	owned := map[string]string{workv1alpha1.LabelReplicaSet: "ns.web"}
	lost := map[string]string{workv1alpha1.LabelControllerHash: "aaa"}
	hashed := map[string]string{workv1alpha1.LabelOwnerHash: workv1alpha1.OwnerHash("ns", "web")}
	another := map[string]string{workv1alpha1.LabelReplicaSet: "ns.web", workv1alpha1.LabelOwnerHash: workv1alpha1.OwnerHash("ns", "other")}
	for name, test := range map[string]struct {
		there    namespace
		strange  bool
		created  []string
		found    []string
		restored int
		wanted   func(error) bool
	}{
		"no work exists":                      {created: names[:1]},
		"somebody else's":                     {there: namespace{names[0]: nil}, created: names[1:2], found: []string{"c1 has " + names[1]}},
		"two of somebody else's":              {there: namespace{names[0]: nil, names[1]: nil}, created: names[2:3], found: []string{"c1 has " + names[2]}},
		"all names are somebody else's":       {there: namespace{names[0]: nil, names[1]: nil, names[2]: nil}, wanted: apierrors.IsAlreadyExists},
		"ours, which the cache hides":         {there: namespace{names[0]: owned}, found: names[:1], wanted: isUnseen},
		"ours, which lost its label":          {there: namespace{names[0]: lost}, found: names[:1], restored: 1, wanted: isUnseen},
		"ours, with the new label only":       {there: namespace{"web-abc12": hashed}, strange: true, found: []string{"web-abc12"}, restored: 1, wanted: isUnseen},
		"ours, with a hash of another":        {there: namespace{names[0]: another}, found: names[:1], wanted: isUnseen},
		"ours, under another hub's name":      {there: namespace{"web-abc12": owned}, strange: true, found: []string{"web-abc12"}, wanted: isUnseen},
		"the hash of an unknown revision":     {there: namespace{names[0]: {workv1alpha1.LabelControllerHash: "xyz"}}, created: names[1:2], found: []string{"c1 has " + names[1]}},
		"another hub's names, no work exists": {strange: true, created: names[:1]},
	} {
		t.Run(name, func(t *testing.T) {
			var created, found []string
			owner := ours(&found)
			if test.strange {
				owner.Works = []*workv1.ManifestWork{{ObjectMeta: metav1.ObjectMeta{Namespace: "c2", Name: "web-xyz34"}}}
			}
			client := test.there.client()
			answer, err := at(client, false).Write(t.Context(), owner, &rollout.Write{Owner: rt.OwnerMetadata(),
				Action: rollout.Create, Cluster: "c1", Revision: rt.Revision("aaa"),
			})
			if test.wanted == nil {
				require.NoError(t, err)
				require.Equal(t, test.created[0], answer.GetName())
			} else {
				require.True(t, test.wanted(err), err)
			}
			list, err := client.WorkV1().ManifestWorks("c1").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for i := range list.Items {
				if _, before := test.there[list.Items[i].Name]; !before {
					created = append(created, list.Items[i].Name)
				}
			}
			require.Equal(t, test.created, created)
			require.Equal(t, test.found, found)
			require.Equal(t, test.restored, worktest.Asked(client, "patch"))
		})
	}
}

func isUnseen(err error) bool { return errors.Is(err, memory.ErrUnseen) }

// The deletion carries the version that the cache showed, or no version. An object that is already gone is not an error.
func TestDelete(t *testing.T) {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "web", UID: "uid", ResourceVersion: "7"}}
	for name, test := range map[string]struct {
		answer  error
		deleted bool
		failed  bool
	}{
		"there": {deleted: true}, "gone": {answer: apierrors.NewNotFound(manifestworks, "web")},
		"changed": {answer: apierrors.NewConflict(manifestworks, "web", errors.New("newer")), failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []metav1.Preconditions
			client := worktest.Answering("delete", func(action clienttesting.Action) (*workv1.ManifestWork, error) {
				asked = append(asked, *action.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions)
				return nil, test.answer
			})
			w := at(client, false)
			for _, remove := range []func() (bool, error){
				func() (bool, error) { return w.Delete(t.Context(), work) }, func() (bool, error) { return w.DeleteAny(t.Context(), work) },
			} {
				deleted, err := remove()
				require.Equal(t, test.deleted, deleted)
				require.Equal(t, test.failed, err != nil)
			}
			require.Equal(t, "7", *asked[0].ResourceVersion)
			require.Nil(t, asked[1].ResourceVersion)
			require.EqualValues(t, "uid", *asked[1].UID)
		})
	}
}
