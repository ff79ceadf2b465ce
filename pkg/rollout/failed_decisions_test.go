package rollout_test

import (
	"testing"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestMissingDecisionsFailNothing: decisions that are being written, and a Placement that is recreated, do not abort a rollout. A
// percentage in maxFailures does not apply to the few clusters that are known at that moment.
func TestMissingDecisionsFailNothing(t *testing.T) {
	of := func(group string) rt.WorkOption {
		return func(w *work.Work) {
			rt.OfPlacement("p1")(w)
			rt.InGroup(group)(w)
			w.LeftSince = rt.At(10*minute - second)
		}
	}
	works := []work.Work{failed("c1", of("0/a")), failed("c2", of("0/a")), done("c3", of("0/a")), old("d1", of("1/b"))}
	for _, cluster := range []string{"c4", "c5", "c6", "c7", "c8", "c9"} {
		works = append(works, old(cluster, of("0/a")))
	}
	known := []string{"c1", "c2", "c3", "c4"}
	for name, decisions := range map[string][]rt.RefOption{
		"all decisions":               {rt.Group("a", append(known, "c5", "c6", "c7", "c8", "c9")...), rt.Group("b", "d1")},
		"a decision without clusters": {rt.Uncounted()},
	} {
		for kind, strategy := range map[string]rt.RefOption{"All": rt.All(), "Progressive": rt.Progressive(2), "PerGroup": rt.PerGroup()} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				ref := rt.Ref("p1", append(decisions, strategy, rt.Deadline("5m"), rt.MaxFailures("20%"), rt.AbortAll())...)
				p := decide(rt.Now(10*minute), rt.Refs(ref), rt.Works(works...), rt.Recorded("p1", workv1alpha1.FailureDeadlineExceeded, "c1", "c2"))
				if p.Refs[0].Failed || p.Abort != nil {
					t.Errorf("failed %v, abort %+v; %v", p.Refs[0].Failed, p.Abort, p.Phases())
				}
			})
		}
	}
}
