package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/open-cluster-management-io/work-rollback/internal/worktest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"

	clienttesting "k8s.io/client-go/testing"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
)

// If a cache lags behind, the API server is asked about a few objects at a time, and about each at most once per interval. An object that
// is gone, or that the cache shows in the meantime, no longer delays a pass.
func TestLateCachesAreAskedForInTurn(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1000, 0))
	asked := map[string]int{}
	total := 0
	stores := NewStores()
	onAsk := func(string) {}
	works := worktest.Answering("get", func(action clienttesting.Action) (*workv1.ManifestWork, error) {
		namespace, name := action.GetNamespace(), action.(clienttesting.GetAction).GetName()
		asked[namespace]++
		total++
		onAsk(namespace)
		if namespace == "gone" {
			return nil, apierrors.NewNotFound(workv1.Resource("manifestworks"), name)
		}
		return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace)}}, nil
	})
	c := NewWithStores(Config{Works: works, Clock: clk}, stores)
	const pending = 50
	owner := c.owners.OwnerOf("default/web", "u")
	written := func(namespace string) *workv1.ManifestWork {
		return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", UID: types.UID(namespace), ResourceVersion: "7"}}
	}
	for i := range pending - 1 {
		owner.Expectations.Wrote(stores.Works, written(fmt.Sprintf("c%d", i)), clk.Now())
	}
	owner.Expectations.Wrote(stores.Works, written("gone"), clk.Now())

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
	require.Len(t, asked, pending, "each object is asked about")
	require.Equal(t, pending, total, "once")
	require.Equal(t, pending-1, owner.Expectations.Behind(), "the cache will never show a deleted object")

	clk.Step(memory.CatchUpPatience)
	onAsk = func(string) { // The watch is back.
		for i := range pending - 1 {
			require.NoError(t, stores.Works.Add(written(fmt.Sprintf("c%d", i))))
		}
	}
	before := total
	require.True(t, c.caughtUp(t.Context(), owner))
	require.Equal(t, 1, total-before, "the cache now shows the others")
}

// Objects that were deleted before the cache saw them do not delay a pass: the API server is asked about all of them at once.
func TestWhatIsGoneHoldsUpNothing(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1000, 0))
	works := worktest.Answering("get", func(action clienttesting.Action) (*workv1.ManifestWork, error) {
		return nil, apierrors.NewNotFound(workv1.Resource("manifestworks"), action.(clienttesting.GetAction).GetName())
	})
	c := NewWithStores(Config{Works: works, Clock: clk}, NewStores())
	owner := c.owners.OwnerOf("default/web", "u")
	for i := range 10 * catchUpQuestions {
		name := fmt.Sprintf("c%d", i)
		owner.Expectations.Wrote(c.stores.Works, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "web", UID: types.UID(name)}}, clk.Now())
	}
	clk.Step(memory.CatchUpPatience + time.Millisecond)
	require.True(t, c.caughtUp(t.Context(), owner))
}

// The first pass that no longer finds an object forgets it.
func TestWhatIsGoneIsForgotten(t *testing.T) {
	c := NewWithStores(Config{}, NewStores())
	c.owners.OwnerOf("demo/web", "u1")
	c.owners.OwnerOf("demo/web2", "u2")
	_, err := c.Sync(t.Context(), "demo/web")
	require.NoError(t, err)
	require.Nil(t, c.owners.Find("demo/web"))
	require.NotNil(t, c.owners.Find("demo/web2"))
}
