package rollout_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestStrategyErrors: a strategy that can't be read starts nothing, and the error names the field and its value.
func TestStrategyErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		ref  placement.Ref
		want string
	}{
		"type": {
			ref:  rt.Ref("p1", func(r *placement.Ref) { r.Strategy.Type = "Slowly" }),
			want: `spec.placementRefs[0].rolloutStrategy.type: "Slowly" is not a rollout type: use All, Progressive or ProgressivePerGroup`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			rt.Clusters("c1", "c2")(&tc.ref)
			other := rt.Ref("p2", rt.Clusters("c3"))
			p := decide(rt.Now(hour), rt.Refs(tc.ref, other), rt.Works(inFlight("c1")))
			require.EqualError(t, p.Refs[0].Err, tc.want)
			if got := started(p); got != "c3" {
				t.Errorf("started %q, want the other ref's c3 only", got)
			}
			if p.Refs[0].Failed {
				t.Error("it can't have failed: its limits are not known")
			}
		})
	}
}

// TestPercent: a percentage is rounded up, but not too far: in floating point, 7% of 100 would be 8.
func TestPercent(t *testing.T) {
	clusters := make([]string, 100)
	for i := range clusters {
		clusters[i] = fmt.Sprintf("c%03d", i)
	}
	for percent := range 100 {
		size := fmt.Sprintf("%d%%", percent+1)
		p := decide(rt.Now(10*minute), rt.Refs(rt.Ref("p1", rt.Progressive(size), rt.Clusters(clusters...))))
		if len(p.Writes) != percent+1 {
			t.Errorf("%s of 100 clusters are %d", size, len(p.Writes))
		}
		works := make([]work.Work, percent+1)
		for i := range works {
			works[i] = failed(clusters[i])
		}
		allowed := rt.Refs(rt.Ref("p1", rt.Deadline("5m"), rt.MaxFailures(fmt.Sprintf("%d%%", percent)), rt.Clusters(clusters...)))
		if p := decide(rt.Now(10*minute), allowed, rt.Works(works...)); !p.Refs[0].Failed {
			t.Errorf("%d failures of 100 are tolerated by maxFailures %d%%", percent+1, percent)
		}
	}
}
