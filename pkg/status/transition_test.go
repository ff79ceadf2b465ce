package status_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// statuses are one of each stage, as Build makes them, of revision bbb.
func statuses() map[status.Stage]workv1alpha1.ManifestWorkReplicaSetStatus {
	two := rt.Clusters("c1", "c2")
	return map[status.Stage]workv1alpha1.ManifestWorkReplicaSetStatus{
		"":                {},
		status.RollingOut: build(input(status.RollingOut, p1(two), rt.Works(inFlight("c1"), old("c2")))),
		status.Stalled:    build(input(status.Stalled, p1(two), rt.Works(failed("c1"), old("c2")))),
		status.Complete:   build(input(status.Complete, p1(two), rt.Works(done("c1"), done("c2")))),
		status.Aborting:   build(input(status.Aborting, p1(two), rt.Works(failed("c1"), old("c2")))),
		status.Aborted:    build(input(status.Aborted, p1(two), rt.Works(old("c1"), old("c2")))),
	}
}

func TestTransitions(t *testing.T) {
	for _, tc := range []struct {
		name     string
		was, is  status.Stage
		another  bool
		expected []status.Transition
	}{
		{"the first rollout", "", status.RollingOut, true, []status.Transition{status.Started}},
		{"a status that was lost, of what is complete", "", status.Complete, true, nil},
		{"a status that was lost, of what is aborted", "", status.Aborted, true, nil},
		{"a status that was lost, of what is stalled", "", status.Stalled, true, nil},
		{"it goes on", status.RollingOut, status.RollingOut, false, nil},
		{"a new template in the middle", status.RollingOut, status.RollingOut, true, []status.Transition{status.Started}},
		{"a new template after a rollout", status.Complete, status.RollingOut, true, []status.Transition{status.Started}},
		{"a new template after a stall", status.Stalled, status.RollingOut, true, []status.Transition{status.Started}},
		{"a new template after an abort", status.Aborted, status.RollingOut, true, []status.Transition{status.Started}},
		{"a retry after an abort", status.Aborted, status.RollingOut, false, []status.Transition{status.Started}},
		{"a retry in the middle of an abort", status.Aborting, status.RollingOut, false, []status.Transition{status.Started}},
		{"complete", status.RollingOut, status.Complete, false, []status.Transition{status.Completed}},
		{"complete after a stall", status.Stalled, status.Complete, false, []status.Transition{status.Completed}},
		{"still complete", status.Complete, status.Complete, false, nil},
		{"stalled", status.RollingOut, status.Stalled, false, []status.Transition{status.Stopped}},
		{"healed", status.Stalled, status.RollingOut, false, []status.Transition{status.Resumed}},
		{"an abort", status.RollingOut, status.Aborting, false, []status.Transition{status.AbortDecided}},
		{"an abort after a stall", status.Stalled, status.Aborting, false, []status.Transition{status.AbortDecided}},
		{"an abort that goes on", status.Aborting, status.Aborting, false, nil},
		{"carried out", status.Aborting, status.Aborted, false, []status.Transition{status.AbortCarriedOut}},
		{"carried out in one", status.RollingOut, status.Aborted, false, []status.Transition{status.AbortDecided, status.AbortCarriedOut}},
		{"a work has to go back again", status.Aborted, status.Aborting, false, nil},
		{"still aborted", status.Aborted, status.Aborted, false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, after := statuses()[tc.was], statuses()[tc.is]
			if tc.another {
				before.UpdateRevision = "aaa"
			}
			require.Equal(t, tc.expected, status.Transitions(&before, &after))
		})
	}
}

// An older CRD that comes or goes in the middle of a rollout takes the hash away or brings it back: no rollout begins with that.
func TestTransitionsWhereAnOlderCRDDropsTheHash(t *testing.T) {
	told, dropped := statuses()[status.RollingOut], statuses()[status.RollingOut]
	require.NotEmpty(t, told.UpdateRevision)
	dropped.UpdateRevision = ""
	require.Empty(t, status.Transitions(&told, &dropped))
	require.Empty(t, status.Transitions(&dropped, &told))
}
