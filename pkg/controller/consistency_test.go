package controller

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

func work(uid, version string) *workv1.ManifestWork {
	return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "web", UID: types.UID(uid), ResourceVersion: version}}
}

// A pass waits until a cache shows this process's own last write, and no longer (R15).
func TestCachesCatchUpWithOurWrites(t *testing.T) {
	deleting := work("u1", "12")
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for name, test := range map[string]struct {
		deleted bool
		cached  *workv1.ManifestWork
		behind  bool
	}{
		"a write that the cache lacks":             {false, nil, true},
		"a write, and the cache is older":          {false, work("u1", "9"), true},
		"a write, and the cache shows it":          {false, work("u1", "11"), false},
		"a write, and the cache is newer":          {false, work("u1", "100"), false},
		"a driver whose versions can't be ordered": {false, work("u1", "a"), false},
		"a deletion that the cache does not show":  {true, work("u1", "9"), true},
		"a deletion that waits for a finalizer":    {true, deleting, false},
		"a deletion, and it is gone":               {true, nil, false},
		"a deletion, and there is another since":   {true, work("u2", "13"), false},
	} {
		t.Run(name, func(t *testing.T) {
			store := cache.NewStore(cache.MetaNamespaceKeyFunc)
			if test.cached != nil {
				require.NoError(t, store.Add(test.cached))
			}
			c := newConsistency()
			if test.deleted {
				c.deleted("default/web", store, work("u1", "11"), time.Unix(0, 0))
			} else {
				c.wrote("default/web", store, work("u1", "11"), time.Unix(0, 0))
			}
			require.Equal(t, test.behind, len(c.behind("default/web")) > 0)
			require.Empty(t, c.behind("default/other"), "another owner does not wait for it")
		})
	}
}

// What somebody else deleted before a cache saw our write will never show: the cache's own word for it is enough.
func TestWritesOfWhatIsGoneAreForgotten(t *testing.T) {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	c := newConsistency()
	c.wrote("default/web", store, work("u2", "11"), time.Unix(0, 0))
	c.gone("default/web", store, work("u1", "10"))
	require.Len(t, c.behind("default/web"), 1, "an older object with that name went")
	c.gone("default/web", store, work("u2", "12"))
	require.Empty(t, c.behind("default/web"))
}
