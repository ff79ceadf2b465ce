package view_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// TestHeadline: one sentence describes the present state or the next event, from the same forecast as the facts.
func TestHeadline(t *testing.T) {
	healthy := func(o *view.Objects) {
		o.ReplicaSet.Status.Rejections = nil
		for i := range o.Works {
			o.Works[i] = succeeding(t, o.Works[i].Cluster(), "v1")
		}
	}
	aborting := func(o *view.Objects) {
		healthy(o)
		at := metav1.NewTime(now.Add(4 * time.Minute))
		o.ReplicaSet.Status.AbortedTime, o.ReplicaSet.Status.State = &at, workv1alpha1.StateAborting
	}
	for name, c := range map[string]struct {
		failures, deadline string
		change             func(*view.Objects)
		want               string
		level              view.Level
	}{
		"an abort comes": {"6", "10m", nil, "In 5m3s: 7th failure, maxFailures 6: AbortAll returns 9 clusters to revision 1.", view.LevelBad},
		"halted": {"6", "None", nil,
			"Halted: 7 degraded, maxFailures 6: nothing starts until 1 recovers.", view.LevelBad},
		"none is sick": {"6", "10m", func(o *view.Objects) {
			o.ReplicaSet.Status.Rejections = nil
			for i := range 9 {
				o.Works[i] = silent(o.Works[i])
			}
		}, "0 of 20 clusters confirmed revision 2.", view.LevelBusy},
		"none is sick, but all are late": {"6", "10m", func(o *view.Objects) {
			o.Now = now.Add(8 * time.Minute)
			o.ReplicaSet.Status.Rejections = nil
			for i := range 9 {
				o.Works[i] = silent(o.Works[i])
			}
		}, "In 2m4s: 7th failure, maxFailures 6: AbortAll returns 9 clusters to revision 1.", view.LevelBad},
		"tolerated": {"50%", "10m", nil, "0 of 20 clusters confirmed revision 2.", view.LevelWarn},
		"stalled": {"6", "None", func(o *view.Objects) { o.ReplicaSet.Status.State = workv1alpha1.StateStalled },
			"Halted: 7 degraded, maxFailures 6: nothing starts until 1 recovers.", view.LevelBad},
		"paused before an abort": {"6", "10m", func(o *view.Objects) { o.ReplicaSet.Spec.Paused = true },
			"In 5m4s: 7th failure, maxFailures 6: the abort is due, and waits for the end of the pause: then AbortAll returns 9 clusters to revision 1.", view.LevelBad},
		"paused": {"6", "10m", func(o *view.Objects) { healthy(o); o.ReplicaSet.Spec.Paused = true },
			"Paused: the hub writes to no cluster, and aborts nothing, until a user resumes the rollout.", view.LevelWarn},
		"paused, and none is sick": {"6", "10m", func(o *view.Objects) {
			o.ReplicaSet.Spec.Paused, o.ReplicaSet.Status.Rejections = true, nil
			for i := range 9 {
				o.Works[i] = silent(o.Works[i])
			}
		}, "Paused: the hub writes to no cluster, and aborts nothing, until a user resumes the rollout.", view.LevelWarn},
		"rolling out": {"6", "10m", func(o *view.Objects) {
			healthy(o)
			o.Now = now.Add(time.Minute)
			o.Works[0], o.Works[1] = at(t, "c01", 40*time.Second), at(t, "c02", 0)
		}, "1 of 20 clusters confirmed revision 2. The rest are expected in 1m20s.", view.LevelBusy},
		"aborting": {"6", "10m", func(o *view.Objects) {
			aborting(o)
			for i := range 5 {
				o.Works[i] = at(t, o.Works[i].Cluster(), 0)
			}
		}, "The hub waits for 5 clusters to confirm revision 1; there is no time limit.", view.LevelBad},
		"one is left": {"6", "10m", func(o *view.Objects) { aborting(o); o.Works[3] = at(t, "c04", 0) },
			"The hub waits for 1 cluster to confirm revision 1; there is no time limit.", view.LevelBad},
		"aborted, and not recorded": {"6", "10m", aborting, "20 of 20 clusters confirmed revision 1.", view.LevelBad},
		"aborted": {"6", "10m", func(o *view.Objects) {
			aborting(o)
			revisiontest.Amend(o.Revisions[1], func(r *revision.Record) {
				r.Abort = &revision.Abort{At: now.Add(4 * time.Minute), Restored: o.Now}
			})
		}, "Every cluster has revision 1 again: nothing changes until the template changes or a user retries.", view.LevelWarn},
		"complete": {"6", "10m", func(o *view.Objects) {
			healthy(o)
			complete(o)
			o.ReplicaSet.Status.State = workv1alpha1.StateComplete
			for i := range o.Works {
				o.Works[i] = at(t, o.Works[i].Cluster(), time.Second)
			}
		}, "20 of 20 clusters confirmed revision 2.", view.LevelGood},
		"no hub": {"6", "10m", func(o *view.Objects) { o.Lease = &coordinationv1.Lease{} },
			"No hub is running: no work controller leads. This information may be out of date.", view.LevelBad},
	} {
		t.Run(name, func(t *testing.T) {
			o := fleet(t, c.failures, c.deadline)
			if c.change != nil {
				c.change(o)
			}
			h := view.FleetOf(o).Headline
			text := h.Before
			if !h.At.IsZero() {
				text += h.At.Sub(o.Now).Truncate(time.Second).String() + h.After
			}
			require.Equal(t, c.want, text)
			require.Equal(t, c.level, h.Level)
		})
	}
}

// TestLimits: the bar of a placementRef shows how many failures exceed the limit, and the consequence.
func TestLimits(t *testing.T) {
	o := fleet(t, "25%", "10m")
	require.Equal(t, 6, view.FleetOf(o).Bars[0].Limit)
	require.Equal(t, "abort at the 6th failure", view.FleetOf(o).Bars[0].LimitText)
	o.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = ""
	require.Equal(t, "stop at the 6th failure", view.FleetOf(o).Bars[0].LimitText)
	o.ReplicaSet.Status.State = workv1alpha1.StateComplete
	require.Zero(t, view.FleetOf(o).Bars[0].Limit)
}

// TestUnverifiedPlacements: a screen gives the reason why no clusters are known, whatever the state, and expects no end of the rollout.
func TestUnverifiedPlacements(t *testing.T) {
	const missing = `there is no Placement "p"`
	for state, shown := range map[workv1alpha1.State]string{
		workv1alpha1.StateComplete: missing, workv1alpha1.StateRollingOut: missing, workv1alpha1.StateStalled: missing,
		workv1alpha1.StatePaused: missing, workv1alpha1.StateInvalid: "",
	} {
		o := objects(t)
		o.Placements, o.Decisions = nil, nil
		status := &o.ReplicaSet.Status
		status.State = state
		status.Conditions = []metav1.Condition{
			{Type: workv1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, Message: "revision 2: 0 of 0 clusters succeeded"},
			{Type: workv1alpha1.ConditionPlacementVerified, Status: metav1.ConditionFalse, Message: missing},
		}
		f := view.FleetOf(o)
		if shown != "" {
			require.Contains(t, f.Notes, shown, state)
			require.NotEqual(t, view.LevelGood, f.Headline.Level, state)
			require.NotEqual(t, view.LevelBusy, f.Headline.Level, state)
		} else {
			require.Equal(t, missing, f.Why, "the state has this reason")
			require.Empty(t, f.Notes)
		}
		for _, next := range f.Next {
			require.NotEqual(t, "status", next.Args[2], state)
		}
		status.Conditions[1].Status = metav1.ConditionTrue
		require.Empty(t, view.FleetOf(o).Notes)
	}
}
