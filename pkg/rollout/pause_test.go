package rollout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// released returns the plan as it would be without the pause.
func released(p *rollout.Plan) *rollout.Plan {
	free := *p
	if p.Held != nil {
		free.Abort, free.Writes, free.Deletes, free.Held = p.Held.Abort, p.Held.Writes, p.Held.Deletes, nil
	}
	return &free
}

// judgePause checks a plan against R22: during the pause, it does nothing, but its findings and the held actions are those of a plan
// without a pause.
func judgePause(s *rollout.Snapshot, p *rollout.Plan) error {
	if !s.Paused {
		if p.Held != nil {
			return fmt.Errorf("R22: not paused, and held back is %v", p.Held)
		}
		return nil
	}
	if p.Held == nil || p.Abort != nil || len(p.Writes) > 0 || len(p.Deletes) > 0 {
		return fmt.Errorf("R22: paused, and the plan does %v %v %v", p.Abort, p.Writes, p.Deletes)
	}
	if p.Stalled && p.RollsOut() {
		return fmt.Errorf("R14: stalled by the pause")
	}
	unpaused := *s
	unpaused.Paused = false
	free := rollout.Decide(&unpaused)
	if free.Abort != nil {
		// A persisted abort ends the pass. The following fields are only set if the abort is held back.
		free.Recheck, free.Behind = p.Recheck, p.Behind
	}
	if got, want := planText(released(p)), planText(free); got != want {
		return fmt.Errorf("R22: a pause changes what is found:\n%s\n%s", got, want)
	}
	return nil
}

// TestPauseHoldsBack: nothing is written, deleted or aborted, and the held actions are reported.
func TestPauseHoldsBack(t *testing.T) {
	rolling := rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2")))
	for name, tc := range map[string]struct {
		options []rt.SnapshotOption
		held    []string
		abort   bool
	}{
		"a join": {
			options: []rt.SnapshotOption{rolling, rt.Works(done("c1"))},
			held:    []string{"Create c2 to bbb: selected by p1"},
		},
		"a deselection": {
			options: []rt.SnapshotOption{rolling, rt.Works(done("c1"), done("c2"), done("c3", rt.Unselected(0)))},
			held:    []string{"Delete c3/web: no placement selects the cluster"},
		},
		"labels": {
			options: []rt.SnapshotOption{rolling, rt.OwnerLabel("team", "a"), rt.Works(done("c1"))},
			held:    []string{"Create c2 to bbb: selected by p1", "Relabel c1: its labels changed"},
		},
		"an adoption": {
			options: []rt.SnapshotOption{rolling, rt.Works(done("c1"), rt.Work("c2", rt.Holds("bbb")))},
			held:    []string{"Adopt c2 to bbb: its spec already matches this revision"},
		},
		"an abort": {
			options: []rt.SnapshotOption{rolling, rt.Works(failed("c1"), old("c2"))},
			abort:   true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := rt.Snapshot(append(tc.options, rt.Now(10*minute), rt.Paused())...)
			p := rollout.Decide(s)
			require.NoError(t, judgePause(s, p))
			require.Equal(t, tc.held, texts(released(p)))
			require.Equal(t, tc.abort, p.AbortDue() != nil)
			require.False(t, p.Stalled)
		})
	}
}

// TestPauseIsNoStall: held writes count as made. A rollout that would be stalled without the pause is also stalled during it.
func TestPauseIsNoStall(t *testing.T) {
	two := rt.Clusters("c1", "c2")
	goesOn := rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), rt.MaxFailures(1), two))
	p := decide(rt.Now(10*minute), rt.Paused(), goesOn, rt.Works(failed("c1"), old("c2")))
	require.True(t, p.RollsOut())
	require.False(t, p.Stalled)

	stops := rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Deadline("5m"), two))
	require.True(t, decide(rt.Now(10*minute), rt.Paused(), stops, rt.Works(failed("c1"), old("c2"))).Stalled)
}

// TestHeldAbort: an abort that a pause holds back does not end the pass. Phases change at their times.
func TestHeldAbort(t *testing.T) {
	p := decide(rt.Now(10*minute), rt.Paused(), rt.Works(failed("c1"), inFlight("c2")), rt.Rejected("c3", 5*minute, 10*minute),
		rt.Refs(rt.Ref("p1", rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2", "c3", "c4"))))
	require.NotNil(t, p.Held.Abort)
	require.Empty(t, texts(released(p)), "after the pause the abort comes first")
	require.Equal(t, 1, p.Behind)
	require.Equal(t, 3*time.Minute, p.Recheck, "the deadline of c2")
}

// TestRevisionsOfAPlan: during a pause, the revisions that works will get after the pause stay in use.
func TestRevisionsOfAPlan(t *testing.T) {
	options := []rt.SnapshotOption{
		rt.Now(10 * minute), rt.Older("000"), rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Clusters("c1", "c2", "c3"))),
		rt.Works(old("c1"), rt.Work("c2", rt.Holds("000")), old("c3")),
	}
	require.Equal(t, sets.New("bbb", "000"), decide(options...).Hashes())
	require.Equal(t, sets.New("bbb", "000"), decide(append(options, rt.Paused())...).Hashes())
}
