package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

// TestStatusOfALaggingCache: the process dies in the middle of an abort. The next one lists the ManifestWorkReplicaSets from an API server
// whose watch cache lags behind that of the revisions. An older status is no retry (P5).
func TestStatusOfALaggingCache(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 3, "30s", 0, true), "c1", "c2", "c3")
	s.hangs("v2", "")
	var older *unstructured.Unstructured
	s.Fault = func(what string) Fault {
		aborted := s.Object().Status.AbortedTime != nil
		if !aborted {
			object, err := s.API.Get(ReplicaSets, Namespace, Name)
			s.must(err)
			older = object.DeepCopy()
		}
		if aborted && what == "patch work c2/web" {
			s.Fault = nil
			return KilledBefore
		}
		return NoFault
	}
	for s.Fault != nil {
		if acted, next := s.step(); !acted {
			s.Clock.SetTime(next)
		}
	}
	stale, err := replicaset.Transform(older)
	s.must(err)
	cached := s.Hub.stores.ReplicaSets
	fresh, _, _ := cached.GetByKey(Namespace + "/" + Name)
	s.must(cached.Update(stale))
	s.Clock.Step(2 * time.Second) // The restart takes some time.
	s.sync()
	s.must(cached.Update(fresh))
	s.due = true
	s.settle(10 * time.Second)
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	s.everywhere("v1")
}
