package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/internal/worktest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// awayBroker is a broker that can be disconnected.
type awayBroker struct{ reachable bool }

func (a *awayBroker) HeardSince(string) (time.Time, bool) { return rt.Epoch, true }
func (a *awayBroker) Reachable() bool                     { return a.reachable }

func (a *awayBroker) Unreached(types.UID) bool { return false }

func (a *awayBroker) Claimed(string, func(cluster, name string) bool) []string { return nil }

func workOf(cluster, hash string) *work.Work {
	work := rt.Work(cluster, rt.AtRevision(hash))
	return &work
}

func brokerPass(writes ...rollout.Write) *pass {
	p := &pass{
		key: "ns/web", now: rt.Epoch, memory: memory.NewOwners().OwnerOf("ns/web", ""), observed: observed{object: &replicaset.Object{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{}}},
	}
	p.Snapshot, p.Update = &rollout.Snapshot{Owner: rt.Owner}, rt.Revision("bbb")
	p.Plan = &rollout.Plan{Desired: rt.Revision("bbb"), Actions: rollout.Actions{Writes: writes}}
	return p
}

// While the broker is disconnected, no write is tried, no error is logged for each cluster, and the condition reports what happens next.
func TestNothingIsWrittenWhileTheBrokerIsAway(t *testing.T) {
	client := worktest.Answering("*", func(action clienttesting.Action) (*workv1.ManifestWork, error) { panic("tried: " + action.GetVerb()) })
	c := NewWithStores(Config{
		Works: client, Broker: &awayBroker{}, Clock: clocktesting.NewFakeClock(rt.Epoch),
	}, NewStores())
	p := brokerPass(
		rollout.Write{Owner: rt.OwnerMetadata(), Action: rollout.Create, Cluster: "c1", Revision: rt.Revision("bbb")},
		rollout.Write{Owner: rt.OwnerMetadata(), Action: rollout.Relabel, Cluster: "c2", Work: workOf("c2", "bbb")},
	)
	p.Plan.Deletes = []rollout.Delete{{Work: workOf("c3", "bbb")}}
	require.NoError(t, c.act(t.Context(), p), "no error that the queue would log and back off from")
	require.Equal(t, []string{
		"the broker is not connected; 3 ManifestWorks will be written when it is back; check the broker and --work-driver-config",
	}, p.problems)
	require.Equal(t, awayInterval, p.recheck)

	// The deletion of the owner waits too, and its finalizer stays.
	p = brokerPass()
	done, err := c.deleteAll(t.Context(), p, []*workv1.ManifestWork{workOf("c1", "bbb").Object})
	require.NoError(t, err)
	require.False(t, done)
	require.Equal(t, awayInterval, p.recheck)
}
