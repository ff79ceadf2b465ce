package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
)

func spec(manifest string) workv1.ManifestWorkSpec {
	return workv1.ManifestWorkSpec{
		Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}},
	}
}

const configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}`

func newWork(uid, version string) *workv1.ManifestWork {
	return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "web", UID: types.UID(uid), ResourceVersion: version}}
}

// A pass waits until the cache shows the last write by this process, and no longer.
func TestCachesCatchUpWithOurWrites(t *testing.T) {
	deleting := newWork("u1", "12")
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for name, test := range map[string]struct {
		deleted bool
		cached  *workv1.ManifestWork
		behind  bool
	}{
		"a write that the cache lacks":             {false, nil, true},
		"a write, and the cache is older":          {false, newWork("u1", "9"), true},
		"a write, and the cache shows it":          {false, newWork("u1", "11"), false},
		"a write, and the cache is newer":          {false, newWork("u1", "100"), false},
		"a driver whose versions have no order":    {false, newWork("u1", "a"), false},
		"a deletion that the cache does not show":  {true, newWork("u1", "9"), true},
		"a deletion that waits for a finalizer":    {true, deleting, false},
		"a deletion, and it is gone":               {true, nil, false},
		"a deletion, and the object was recreated": {true, newWork("u2", "13"), false},
	} {
		t.Run(name, func(t *testing.T) {
			store := cache.NewStore(cache.MetaNamespaceKeyFunc)
			if test.cached != nil {
				require.NoError(t, store.Add(test.cached))
			}
			e := &Expectations{}
			if test.deleted {
				e.Deleted(store, newWork("u1", "11"), time.Unix(0, 0))
			} else {
				e.Wrote(store, newWork("u1", "11"), time.Unix(0, 0))
			}
			require.Equal(t, test.behind, e.Behind() > 0)
		})
	}
}

// An object that was recreated under the same name is a different object: the absence of the old one says nothing about it.
func TestWritesOfWhatWasCreatedAgainAreAwaited(t *testing.T) {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	require.NoError(t, store.Add(newWork("old", "10")))
	e := &Expectations{}
	e.Wrote(store, newWork("new", "12"), time.Unix(0, 0))
	require.NoError(t, store.Delete(newWork("old", "10")))
	require.Equal(t, 1, e.Behind(), "the cache has not seen the new one")
	require.NoError(t, store.Add(newWork("new", "12")))
	require.Zero(t, e.Behind())
}

// The answers to two writes of an object may arrive in a different order.
func TestNewestWriteIsAwaited(t *testing.T) {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	require.NoError(t, store.Add(newWork("u1", "10")))
	e := &Expectations{}
	for _, version := range []string{"12", "11"} {
		e.Wrote(store, newWork("u1", version), time.Unix(0, 0))
	}
	require.NoError(t, store.Update(newWork("u1", "11")))
	require.Equal(t, 1, e.Behind())
	require.NoError(t, store.Update(newWork("u1", "12")))
	require.Zero(t, e.Behind())
}

// If the cache does not show a write for a long time, the API server is asked about it, a few objects at a time, until it answers that
// the object is gone.
func TestLateWrites(t *testing.T) {
	store, at := cache.NewStore(cache.MetaNamespaceKeyFunc), func(d time.Duration) time.Time { return time.Unix(1000, 0).Add(d) }
	e := &Expectations{}
	for _, name := range []string{"a", "b", "c"} {
		w := newWork("uid-of-"+name, "11")
		w.Name = name
		e.Wrote(store, w, at(0))
	}
	require.Empty(t, e.Late(at(CatchUpPatience), 2), "a cache may take some time")
	late := e.Late(at(CatchUpPatience+1), 2)
	require.Len(t, late, 2)
	late = append(late, e.Late(at(CatchUpPatience+2), 2)...)
	require.Len(t, late, 3, "each once")
	require.Empty(t, e.Late(at(CatchUpPatience+3), 2))
	require.Len(t, e.Late(at(3*CatchUpPatience), 5), 3, "and again after a while")
	for i, w := range late {
		require.Equal(t, "uid-of-"+w.Key[len("c1/"):], string(w.UID))
		require.False(t, w.Shown())
		e.Forget(w)
		require.Equal(t, len(late)-1-i, e.Behind())
	}
}
