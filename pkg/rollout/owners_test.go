package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// TestOwners: a cluster belongs to the first ref that selects it, and is counted once (R8).
func TestOwners(t *testing.T) {
	p := decide(rt.Refs(
		rt.Ref("p1", rt.Clusters("c1", "c2")),
		rt.Ref("p2", rt.Progressive(1), rt.Clusters("c2", "c3", "c4")),
		rt.Ref("p3", rt.Missing()),
		rt.Ref("p4", rt.Clusters("c4", "c1")),
	))
	var got []string
	for _, w := range p.Writes {
		got = append(got, w.Cluster+" for "+w.Placement)
	}
	require.Equal(t, []string{"c1 for p1", "c2 for p1", "c3 for p2"}, got)
	if p.Selected() != 4 || p.Refs[0].Selected != 2 || p.Refs[1].Selected != 2 || p.Refs[3].Selected != 0 {
		t.Errorf("selected %d: %+v", p.Selected(), p.Refs)
	}
}

// TestHeldByAnEarlierRef: while nobody knows what an earlier ref selects, a cluster that was its own does not follow the strategy of a
// later one: a Placement that is deleted and made again would be rolled out at once by a careless ref behind it (R8).
func TestHeldByAnEarlierRef(t *testing.T) {
	all := rt.Ref("p2", rt.Clusters("c1", "c2", "c3"))
	works := rt.Works(old("c1"), old("c2", rt.OfPlacement("p2")))
	for name, tc := range map[string]struct {
		first placement.Ref
		want  []string
	}{
		"its Placement is missing":    {rt.Ref("p1", rt.Missing()), []string{"Update c2 to bbb: its turn in p2", "Create c3 to bbb: selected by p2"}},
		"it has no decisions":         {rt.Ref("p1", rt.Undecided()), []string{"Update c2 to bbb: its turn in p2", "Create c3 to bbb: selected by p2"}},
		"its decisions are not whole": {rt.Ref("p1", rt.Expecting(1)), []string{"Update c2 to bbb: its turn in p2", "Create c3 to bbb: selected by p2"}},
		"it selects others": {rt.Ref("p1", rt.Clusters("c4")), []string{
			"Create c4 to bbb: selected by p1", "Update c1 to bbb: its turn in p2", "Update c2 to bbb: its turn in p2", "Create c3 to bbb: selected by p2",
		}},
		"there is no such ref": {rt.Ref("p0", rt.Missing()), []string{
			"Update c1 to bbb: its turn in p2", "Update c2 to bbb: its turn in p2", "Create c3 to bbb: selected by p2",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, texts(decide(rt.Now(10*minute), works, rt.Refs(tc.first, all))))
		})
	}

	missing := rt.Ref("p1", rt.Missing())
	t.Run("its other labels follow the owner's", func(t *testing.T) {
		p := decide(rt.Now(10*minute), rt.OwnerLabel("team", "blue"), rt.Works(old("c1")), rt.Refs(missing, rt.Ref("p2", rt.Clusters("c1"))))
		if len(p.Writes) != 1 || p.Writes[0].Action != rollout.Relabel || p.Writes[0].Placement != "p1" {
			t.Errorf("%+v", p.Writes)
		}
	})
	t.Run("it takes no slot, and keeps later groups waiting", func(t *testing.T) {
		p := decide(rt.Now(10*minute), works, rt.Refs(missing, rt.Ref("p2", rt.Progressive(1), rt.Clusters("c1", "c2"))))
		if got := started(p); got != "c2" {
			t.Errorf("started %q", got)
		}
		p = decide(rt.Now(10*minute), works, rt.Refs(missing, rt.Ref("p2", rt.PerGroup(), rt.Group("a", "c1"), rt.Group("b", "c2"))))
		if got := started(p); got != "" {
			t.Errorf("started %q", got)
		}
	})
	t.Run("an abort waits for nothing", func(t *testing.T) {
		p := decide(rt.Now(10*minute), rt.Aborted(), rt.Works(failed("c1")), rt.Refs(missing, rt.Ref("p2", rt.Clusters("c1"))))
		require.Equal(t, []string{"Update c1 to aaa: aborted"}, texts(p))
	})
}

// TestHandover: a cluster that another ref takes over is relabelled, counts there, and is not rolled out again (R8).
func TestHandover(t *testing.T) {
	p := decide(rt.Now(10*minute), rt.Works(inFlight("c1"), old("c2")),
		rt.Refs(rt.Ref("p2", rt.Progressive(1), rt.Clusters("c1", "c2"))))
	require.Equal(t, []string{"Relabel c1: its cluster belongs to p2 now", "Relabel c2: its cluster belongs to p2 now"}, texts(p))
	if p.Writes[0].Group != "0/" {
		t.Errorf("it counts in group %q from now on", p.Writes[0].Group)
	}
	if len(p.Deletes) > 0 {
		t.Error(p.Deletes)
	}
	if p.Refs[0].Selected != 2 || p.Counts[rollout.PhaseInFlight] != 1 {
		t.Errorf("%+v %v", p.Refs, p.Counts)
	}
}
