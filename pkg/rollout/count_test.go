package rollout_test

import (
	"testing"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// TestLeaving: works whose cluster nothing selects, or that are being deleted, keep their slot and count in their group.
func TestLeaving(t *testing.T) {
	at10 := rt.Now(10 * minute)
	recorded := func(clusters ...string) rt.SnapshotOption {
		return rt.Recorded("p1", workv1alpha1.FailureDeadlineExceeded, clusters...)
	}
	progressive := func(clusters ...string) placement.Ref {
		return rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), rt.MaxFailures(1), rt.Clusters(clusters...))
	}
	t.Run("one that was deselected in flight keeps its slot", func(t *testing.T) {
		p := decide(at10, rt.Refs(progressive("c2")), rt.Works(inFlight("c1", rt.Unselected(10*minute), rt.InGroup("0/"))))
		if started(p) != "" {
			t.Error(started(p))
		}
	})
	t.Run("those that failed before they were deselected still fail the ref", func(t *testing.T) {
		p := decide(at10, recorded("c1", "c2"), rt.Refs(progressive("c3")), rt.Works(failed("c1", rt.Deleting()), failed("c2", rt.Unselected(10*minute))))
		if !p.Refs[0].Failed || started(p) != "" || len(p.Failing) != 2 {
			t.Errorf("%+v %v %v", p.Refs, started(p), p.Failing)
		}
		if p.Selected() != 1 || p.Counts[rollout.PhaseFailed] != 0 {
			t.Errorf("they are not selected: %v", p.Counts)
		}
	})
	t.Run("those whose time passes after they were deselected fail the ref, if they never succeeded", func(t *testing.T) {
		p := decide(at10, rt.Refs(progressive("c3")), rt.Works(failed("c1", rt.Deleting()), failed("c2", rt.Unselected(10*minute))))
		if !p.Refs[0].Failed || !p.Refs[0].Halted || started(p) != "" || len(p.Failing) != 2 || len(p.Records.Failures) != 2 {
			t.Errorf("%+v %v %v %v", p.Refs, started(p), p.Failing, p.Records)
		}
	})
	t.Run("in the group that they were written in", func(t *testing.T) {
		ref := rt.Ref("p1", rt.PerGroup(), rt.Deadline("5m"), rt.MaxFailures(1), rt.Group("a", "c1", "c2"), rt.Group("b", "c3"))
		p := decide(at10, recorded("c4", "c5"), rt.Refs(ref), rt.Works(failed("c4", rt.Deleting(), rt.InGroup("0/a")), failed("c5", rt.Deleting(), rt.InGroup("1/b"))))
		if p.Refs[0].Failed {
			t.Error("one failure in each group is tolerated")
		}
		p = decide(at10, recorded("c4", "c5"), rt.Refs(ref), rt.Works(failed("c4", rt.Deleting(), rt.InGroup("0/a")), failed("c5", rt.Deleting(), rt.InGroup("0/a"))))
		if !p.Refs[0].Failed {
			t.Error("two failures in one group are not")
		}
	})
	t.Run("one that another ref selects now counts for both", func(t *testing.T) {
		p := decide(at10, recorded("c1"), rt.Works(failed("c1", rt.Deleting())),
			rt.Refs(rt.Ref("p1", rt.Deadline("5m")), rt.Ref("p2", rt.Clusters("c1"))))
		if !p.Refs[0].Failed || p.Phases()["c1"] != rollout.PhaseTerminating {
			t.Errorf("%+v %v", p.Refs, p.Phases())
		}
	})
}
