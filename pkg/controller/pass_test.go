package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
)

// fakeWorks answers what it is asked by functions; nil for what must not be asked.
type fakeWorks struct {
	workclientset.Interface
	workv1client.WorkV1Interface
	workv1client.ManifestWorkInterface
	namespace string

	get    func(namespace, name string) (*workv1.ManifestWork, error)
	list   func(namespace string) (*workv1.ManifestWorkList, error)
	create func(work *workv1.ManifestWork) (*workv1.ManifestWork, error)
	patch  func(namespace, name string) (*workv1.ManifestWork, error)
	delete func(namespace, name string) error
}

func (f fakeWorks) WorkV1() workv1client.WorkV1Interface { return f }

func (f fakeWorks) ManifestWorks(namespace string) workv1client.ManifestWorkInterface {
	f.namespace = namespace
	return f
}

func (f fakeWorks) Get(_ context.Context, name string, _ metav1.GetOptions) (*workv1.ManifestWork, error) {
	return f.get(f.namespace, name)
}

func (f fakeWorks) List(context.Context, metav1.ListOptions) (*workv1.ManifestWorkList, error) {
	return f.list(f.namespace)
}

func (f fakeWorks) Create(_ context.Context, work *workv1.ManifestWork, _ metav1.CreateOptions) (*workv1.ManifestWork, error) {
	return f.create(work)
}

func (f fakeWorks) Patch(_ context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string) (*workv1.ManifestWork, error) {
	return f.patch(f.namespace, name)
}

func (f fakeWorks) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	return f.delete(f.namespace, name)
}

// A cache that lags behind leads to a few questions at a time, each once in a while; what is gone, or is shown meanwhile, is waited for no
// longer (R15).
func TestLateCachesAreAskedForInTurn(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1000, 0))
	asked := map[string]int{}
	total := 0
	stores := NewStores()
	onAsk := func(string) {}
	works := fakeWorks{get: func(namespace, name string) (*workv1.ManifestWork, error) {
		asked[namespace]++
		total++
		onAsk(namespace)
		if namespace == "gone" {
			return nil, apierrors.NewNotFound(workv1.Resource("manifestworks"), name)
		}
		return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace)}}, nil
	}}
	c := NewWithStores(Config{Works: works, Clock: clk}, stores)
	const owner, pending = "default/web", 50
	written := func(namespace string) *workv1.ManifestWork {
		return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", UID: types.UID(namespace), ResourceVersion: "7"}}
	}
	for i := range pending - 1 {
		c.expectations.Wrote(owner, stores.Works, written(fmt.Sprintf("c%d", i)), clk.Now())
	}
	c.expectations.Wrote(owner, stores.Works, written("gone"), clk.Now())

	require.False(t, c.caughtUp(t.Context(), owner))
	require.Zero(t, total, "a cache may take some time")
	clk.Step(memory.CatchUpPatience + time.Millisecond)
	looks := 0
	for ; looks < pending; looks++ {
		before := total
		require.False(t, c.caughtUp(t.Context(), owner))
		require.LessOrEqual(t, total-before, catchUpQuestions)
		clk.Step(catchUpInterval)
		if total == before {
			break
		}
	}
	require.Len(t, asked, pending, "each has its turn")
	require.Equal(t, pending, total, "once")
	require.Equal(t, pending-1, c.expectations.Behind(owner), "what is gone will never show")

	clk.Step(memory.CatchUpPatience)
	onAsk = func(string) { // The watch is back.
		for i := range pending - 1 {
			require.NoError(t, stores.Works.Add(written(fmt.Sprintf("c%d", i))))
		}
	}
	before := total
	require.True(t, c.caughtUp(t.Context(), owner))
	require.Equal(t, 1, total-before, "the others are shown by now")
}
