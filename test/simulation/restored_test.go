package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

// TestStatusFromBeforeTheAbort: a status from before the abort is older than the revision, which records the abort. It is no retry.
func TestStatusFromBeforeTheAbort(t *testing.T) {
	for name, restart := range map[string]bool{"the same process": false, "another process": true} {
		t.Run("restored from a backup, "+name, func(t *testing.T) {
			s := checkedStory(t)
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			s.hangs("v2", "")
			s.settle(10 * time.Second)
			saved := s.status()
			s.quiet()
			require.NotNil(t, s.Object().Status.AbortedTime)
			s.everywhere("v1")
			s.restore(saved, restart)
			s.settle(10 * time.Second)
			require.NotNil(t, s.Object().Status.AbortedTime, s.story())
			s.everywhere("v1")
		})
	}
	// P5: the process dies in the middle of an abort. The next one lists the ManifestWorkReplicaSets from an API server whose watch cache lags.
	t.Run("in a cache that lags behind that of the revisions", func(t *testing.T) {
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
	})
}

// TestOlderCurrentRevisionIsNoClaim: if a status is older than the revisions, its current revision is not a request of a user.
func TestOlderCurrentRevisionIsNoClaim(t *testing.T) {
	begin := func(t *testing.T) (s *teller, saved *workv1alpha1.ManifestWorkReplicaSetStatus) {
		s = checkedStory(t)
		s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3", "c4")
		saved = s.status()
		s.Update("v2")
		s.quiet()
		return s, saved
	}
	for name, restart := range map[string]bool{"the same process": false, "another process": true} {
		t.Run("restored in a pause: what is complete is not aborted, "+name, func(t *testing.T) {
			s, saved := begin(t)
			s.Report("c1", "v2", Degrades) // A relapse after the completion.
			s.settle(5 * time.Minute)
			require.Nil(t, s.Object().Status.AbortedTime)
			s.Pause(true)
			s.settle(time.Minute)
			s.restore(saved, restart)
			s.settle(time.Minute)
			s.Pause(false)
			s.settle(5 * time.Minute)
			require.Nil(t, s.Object().Status.AbortedTime, s.story())
			s.everywhere("v2")
		})
		t.Run("restored with a new template: the abort goes back to v2, "+name, func(t *testing.T) {
			s, saved := begin(t)
			s.hangs("v3", "c1")
			s.restore(saved, restart)
			s.settle(5 * time.Minute)
			require.NotNil(t, s.Object().Status.AbortedTime, s.story())
			s.everywhere("v2")
		})
		t.Run("restored with its template: an undo under the strategy, "+name, func(t *testing.T) {
			s, saved := begin(t)
			s.Update("v1")
			s.restore(saved, restart)
			s.settle(time.Second)
			require.Equal(t, "v1", s.held("c1"), s.story())
			require.Equal(t, "v2", s.held("c2"), s.story())
			s.quiet()
			s.everywhere("v1")
		})
		t.Run("restored in the middle of the undo: it is not complete, "+name, func(t *testing.T) {
			s, saved := begin(t)
			s.Update("v1")
			s.settle(6 * time.Second)
			s.restore(saved, restart)
			s.settle(time.Second) // CheckWrite: P3.
			require.NotEqual(t, s.hashOf("v1"), s.Object().Status.CurrentRevision, s.story())
			s.quiet()
			s.everywhere("v1")
		})
	}
}
