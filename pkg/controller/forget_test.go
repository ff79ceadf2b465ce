package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

func newWork(uid, version string) *workv1.ManifestWork {
	return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "web", UID: types.UID(uid), ResourceVersion: version}}
}

func refusedBy(words string) error {
	return apierrors.NewForbidden(workv1.Resource("manifestworks"), "web", errors.New(words))
}

// noteAll makes a memory know something of an owner in each of its parts.
func noteAll(m *memory.Memory, owner string, now time.Time) {
	m.Owners.Attempted(owner, []memory.Attempted{{Attempt: memory.Attempt{What: "cluster c1"}, Err: refusedBy("a quota")}}, now)
	m.Owners.Dropped(owner, memory.Status, 1, now)
	m.Reports.Announce(owner, "a note")
	m.Reports.Reported(owner, now)
}

// known counts what a memory knows of an owner.
func known(m *memory.Memory, owner string, now time.Time) (things int) {
	for _, knows := range []bool{
		m.Owners.RefusedLately(owner, memory.Attempt{What: "cluster c1"}, now), m.Owners.Drops(owner, memory.Status), !m.Reports.LastReport(owner).IsZero(),
	} {
		if knows {
			things++
		}
	}
	return things
}

// What is known of an object goes away with it, also when its deletion was missed; what is known of others stays.
func TestWhatIsGoneIsForgotten(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, tell := range map[string]func(object any) any{
		"a deletion that was seen":   func(object any) any { return object },
		"a deletion that was missed": func(object any) any { return cache.DeletedFinalStateUnknown{Obj: object} },
	} {
		t.Run(name, func(t *testing.T) {
			c := NewWithStores(Config{}, NewStores())
			noteAll(c.memory, "demo/web", now)
			noteAll(c.memory, "demo/web2", now)
			gone, stays := newWork("u1", "7"), newWork("u2", "7")
			for _, object := range []*workv1.ManifestWork{gone, stays} {
				c.memory.Works.Stripped(object.GetUID(), true, now)
			}

			owner := &replicaset.Object{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}}
			c.forgetting().OnDelete(tell(owner))
			require.Zero(t, known(c.memory, "demo/web", now))
			require.Equal(t, 3, known(c.memory, "demo/web2", now))
			require.True(t, c.memory.Reports.Announce("demo/web", "a note"), "of another object with that name it is reported again")
			require.False(t, c.memory.Reports.Announce("demo/web2", "a note"))
			require.True(t, c.memory.Works.StrippedLately(gone.UID, now), "its works go away one by one")

			c.forgetting().OnDelete(tell(gone))
			require.False(t, c.memory.Works.StrippedLately(gone.UID, now))
			require.True(t, c.memory.Works.StrippedLately(stays.UID, now))
		})
	}
}

// An object that was deleted and made again while nothing watched is another one: what its namesake left, as revisions that no history
// holds, is not its own.
func TestWhatIsReplacedIsForgotten(t *testing.T) {
	now := time.Unix(1000, 0)
	c := NewWithStores(Config{}, NewStores())
	owner := func(uid types.UID, version string) *replicaset.Object {
		return &replicaset.Object{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web", UID: uid, ResourceVersion: version},
		}}
	}
	noteAll(c.memory, "demo/web", now)
	c.forgetting().OnUpdate(owner("a", "1"), owner("a", "2"))
	require.Equal(t, 3, known(c.memory, "demo/web", now), "an update")
	c.forgetting().OnUpdate(owner("a", "2"), owner("b", "3"))
	require.Zero(t, known(c.memory, "demo/web", now), "another object")
}

// watchedObjects are objects whose informer runs.
type watchedObjects struct {
	t        *testing.T
	source   *cachetesting.FakeControllerSource
	informer cache.SharedIndexInformer
}

func newWatchedObjects(t *testing.T, of runtime.Object, indexers cache.Indexers) *watchedObjects {
	source := cachetesting.NewFakeControllerSource()
	return &watchedObjects{t: t, source: source, informer: cache.NewSharedIndexInformer(source, of, 0, indexers)}
}

// appears returns when the cache has the object.
func (w *watchedObjects) appears(object runtime.Object) {
	w.t.Helper()
	w.source.Add(object)
	require.Eventually(w.t, func() bool {
		_, found, err := w.informer.GetStore().Get(object)
		return err == nil && found
	}, 10*time.Second, time.Millisecond, "the cache shows it")
}

// disappears returns when what was known of the object is gone.
func (w *watchedObjects) disappears(object runtime.Object, knows func() bool) {
	w.t.Helper()
	require.True(w.t, knows(), "it is known while it is there")
	w.source.Delete(object)
	require.Eventually(w.t, func() bool { return !knows() }, 10*time.Second, time.Millisecond, "it is forgotten")
}

// Each informer of what something is remembered of reports when it is gone.
func TestInformersForget(t *testing.T) {
	works := newWatchedObjects(t, &workv1.ManifestWork{}, cache.Indexers{})
	revisions := newWatchedObjects(t, &appsv1.ControllerRevision{}, cache.Indexers{})
	owners := newWatchedObjects(t, &unstructured.Unstructured{}, replicaset.PlacementIndexers())
	require.NoError(t, owners.informer.SetTransform(replicaset.Transform))
	workFactory := workinformers.NewSharedInformerFactory(nil, 0)
	workFactory.InformerFor(&workv1.ManifestWork{}, func(workclientset.Interface, time.Duration) cache.SharedIndexInformer { return works.informer })
	kubeFactory := kubeinformers.NewSharedInformerFactory(nil, 0)
	kubeFactory.InformerFor(&appsv1.ControllerRevision{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return revisions.informer })
	clusters := clusterinformers.NewSharedInformerFactory(nil, 0).Cluster().V1beta1()
	c, err := newWithInformers(Config{
		ReplicaSetInformer: owners.informer,
		WorkInformer:       workFactory.Work().V1().ManifestWorks(),
		RevisionInformer:   kubeFactory.Apps().V1().ControllerRevisions(),
		PlacementInformer:  clusters.Placements(),
		DecisionInformer:   clusters.PlacementDecisions(),
	})
	require.NoError(t, err)
	for _, w := range []*watchedObjects{works, revisions, owners} {
		go w.informer.RunWithContext(t.Context())
	}

	w := newWork("u1", "")
	works.appears(w)
	now := time.Unix(1000, 0)
	c.memory.Works.Stripped(w.UID, true, now)
	works.disappears(w, func() bool { return c.memory.Works.StrippedLately(w.UID, now) })

	r := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web-1", UID: "u2"}}
	r.Data.Raw = []byte(`{"spec":1}`)
	revisions.appears(r)
	decoded := c.contents.Revision(r).Err
	require.Error(t, decoded)
	other := r.DeepCopy()
	other.Data.Raw = []byte(`{"spec":"x"}`)
	revisions.disappears(r, func() bool { return c.contents.Revision(other).Err.Error() == decoded.Error() })

	owner := &unstructured.Unstructured{}
	owner.SetGroupVersionKind(workv1alpha1.ManifestWorkReplicaSetKind)
	owner.SetNamespace("demo")
	owner.SetName("web")
	owners.appears(owner)
	noteAll(c.memory, "demo/web", now)
	owners.disappears(owner, func() bool { return known(c.memory, "demo/web", now) > 0 })
}
