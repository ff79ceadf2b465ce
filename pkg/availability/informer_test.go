package availability

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clusterfake "open-cluster-management.io/api/client/cluster/clientset/versioned/fake"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// TestWhatCantBeReadIsNotGone: a ManagedCluster is gone only if the API server reports that it does not exist. While the API server answers
// with an error, the cluster keeps its last known state.
func TestWhatCantBeReadIsNotGone(t *testing.T) {
	for name, failure := range map[string]error{
		"an error":   apierrors.NewInternalError(errors.New("simulated")),
		"a refusal":  apierrors.NewForbidden(schema.GroupResource{Resource: "managedclusters"}, "", errors.New("simulated")),
		"not served": apierrors.NewGenericServerResponse(404, "list", schema.GroupResource{Resource: "managedclusters"}, "", "simulated", 0, true),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1"}}
			client := clusterfake.NewSimpleClientset(cluster) //nolint:staticcheck // The API module generates no apply configurations.
			var fails atomic.Bool
			failed, watches := make(chan struct{}, 100), make(chan *watch.FakeWatcher, 100)
			client.PrependReactor("list", "managedclusters", func(clienttesting.Action) (bool, runtime.Object, error) {
				if !fails.Load() {
					return false, nil, nil
				}
				failed <- struct{}{}
				return true, nil, failure
			})
			client.PrependWatchReactor("managedclusters", func(clienttesting.Action) (bool, watch.Interface, error) {
				watcher := watch.NewFake()
				watches <- watcher
				return true, watcher, nil
			})
			informer := NewInformer(client)
			seen, gone := make(chan any, 1), make(chan any, 1)
			_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc: func(object any) { seen <- object }, DeleteFunc: func(object any) { gone <- object },
			})
			require.NoError(t, err)
			go informer.RunWithContext(t.Context())
			first := within(t, watches, "the informer watches")
			within(t, seen, "the ManagedCluster is there")

			fails.Store(true)
			first.Error(&apierrors.NewResourceExpired("simulated").ErrStatus)
			within(t, failed, "the informer lists again")
			fails.Store(false)
			second := within(t, watches, "the informer watches again")
			require.Equal(t, []string{"c1"}, informer.GetStore().ListKeys())
			require.Empty(t, gone)
			second.Delete(cluster)
			within(t, gone, "the ManagedCluster is gone")
		})
	}
}

// within returns the next value of a channel.
func within[T any](t *testing.T, from <-chan T, what string) (found T) {
	t.Helper()
	select {
	case found = <-from:
	case <-time.After(time.Minute):
		t.Fatal(what)
	}
	return found
}
