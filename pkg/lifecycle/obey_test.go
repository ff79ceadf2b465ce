package lifecycle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Clusters that return to a different stable revision have not confirmed that revision yet.
func TestNameInAnAbortThatIsRestored(t *testing.T) {
	before := aborted("c", "b", 0)
	before.Former, before.Abort.Restored = []ledger.Named{named("a")}, rt.At(time.Minute)
	v := view("b", before, object("a", 1), object("b", 2), object("c", 3))
	v.Commands.Names, v.Commands.Name = true, hashOf("a")
	d := begin(v)
	require.Equal(t, hashOf("a"), d.Snapshot.Current.Hash)
	require.Zero(t, d.Ledger.Abort.Restored)
	require.False(t, d.Snapshot.Restored)
}

// The ledger stays readable, regardless of how many clusters a user retries.
func TestManyRetriesFit(t *testing.T) {
	l := decided("a", "b")
	var works []work.Work
	for i := range 2000 {
		cluster := fmt.Sprintf("cluster-%04d", i)
		l.Troubles = append(l.Troubles, ledger.Trouble{Cluster: cluster, State: ledger.TriedAgain, Placement: "production", Since: rt.At(time.Minute)})
		works = append(works, ours(cluster, "b", rt.WrittenAt(0), rt.InFlight(0)))
	}
	v := rolling(l, nil, works...)
	d := begin(v)
	d = lifecycle.Enter(v, d, &rollout.Plan{})
	text, err := d.Ledger.Encode()
	require.NoError(t, err)
	_, err = ledger.Decode(text, d.Ledger.Owner)
	require.NoError(t, err)
}

// Without a history, the rollout of the update revision continues during a pause, although the template in the spec is another one.
func TestRevisionsWithoutHistory(t *testing.T) {
	v := view("c", decided("a", "b"), object("a", 1), object("b", 2))
	v.NoHistory, v.Object.Spec.Paused = true, true
	require.Equal(t, digestOf("b"), v.ByHash()[hashOf("b")].Digest)
	require.Equal(t, digestOf("c"), v.ByHash()[hashOf("c")].Digest)
}
