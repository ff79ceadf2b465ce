package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// TestLimits: percentages are converted to clusters as in Decide, and groups have their own limits if the strategy sets them.
func TestLimits(t *testing.T) {
	limits := rollout.LimitsOf(rt.Snapshot(rt.Now(time.Hour),
		rt.Refs(
			rt.Ref("p1", rt.Progressive("30%"), rt.MaxFailures("25%"), rt.Deadline("10m"), rt.Soak(time.Minute), rt.Mandatory("canary"), rt.AbortAll(),
				rt.Group("canary", "c1"), rt.Group("rest", "c2", "c3", "c4", "c5")),
			rt.Ref("p2", rt.PerGroup(), rt.MaxFailures("50%"), rt.Group("a", "c6", "c7", "c8"), rt.Group("b", "c9"))),
		rt.Works(rt.Work("c2", rt.AtRevision("bbb"), rt.WrittenAt(0), rt.InFlight(0)),
			rt.Work("c3", rt.AtRevision("bbb"), rt.WrittenAt(59*time.Minute), rt.Degraded(59*time.Minute)))))
	require.Equal(t, []rollout.Limits{
		{Placement: "p1", Total: 5, Batch: 2, MaxFailures: 2, Failed: 1, Halting: 2, Deadline: 10 * time.Minute, Soak: time.Minute, AbortAll: true,
			Groups: []rollout.GroupLimits{{Name: "canary", Index: 0, Total: 1, Mandatory: true}}},
		{Placement: "p2", Total: 4, Batch: 4, PerGroup: true,
			Groups: []rollout.GroupLimits{{Name: "a", Index: 0, Total: 3, MaxFailures: 2}, {Name: "b", Index: 1, Total: 1, MaxFailures: 1}}},
	}, limits)
}
