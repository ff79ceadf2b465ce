package rollout_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestMain makes every run play the same stories, unless -rapid.checks or -rapid.seed is set: a change must not fail because of an earlier
// bug. `make soak` plays new stories.
func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "1000")
	_ = flag.Set("rapid.seed", "1")
	flag.Parse()
	os.Exit(m.Run())
}

// TestDecideIsAFunction: equal snapshots give equal plans, in any order of the works, and Decide does not change snapshots. A pause changes
// only the actions.
func TestDecideIsAFunction(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		before := snapshotText(s)
		p := rollout.Decide(s)
		if got, want := planText(rollout.Decide(s)), planText(p); got != want {
			t.Fatalf("the same snapshot gives two plans:\n%s\n%s", got, want)
		}
		if after := snapshotText(s); before != after {
			t.Fatalf("Decide changed its snapshot:\n%s\n%s", before, after)
		}
		reversed := *s
		reversed.Works = slices.Clone(s.Works)
		slices.Reverse(reversed.Works)
		if got, want := planText(rollout.Decide(&reversed)), planText(p); got != want {
			t.Fatalf("the order of the works makes a difference:\n%s\n%s", got, want)
		}
		if err := judgePause(s, p); err != nil {
			t.Fatal(err)
		}
		if p.Abort != nil && (len(p.Writes) > 0 || len(p.Deletes) > 0) {
			t.Fatalf("an abort writes before it is persisted: %v %v", p.Writes, p.Deletes)
		}
		for _, write := range p.Writes {
			if i := slices.IndexFunc(s.Works, func(w work.Work) bool { return w.Cluster() == write.Cluster && w.Deleting() }); i >= 0 {
				t.Fatalf("R8: %s, and that work is being deleted", write)
			}
		}
	})
}

func planText(p *rollout.Plan) string {
	return fmt.Sprint(p.Writes, p.Deletes, p.Complete, p.Stalled, p.Recheck, p.Phases(), p.Counts, p.Failing, p.Abort, p.Behind, p.Confirmed)
}

func snapshotText(s *rollout.Snapshot) string {
	text := fmt.Sprintf("%+v %+v %+v", s.Refs, s.Labels, s.Now)
	for i := range s.Refs {
		text += fmt.Sprintf("%+v", s.Refs[i].Placement)
	}
	for i := range s.Works {
		text += fmt.Sprintf("%+v", s.Works[i].Object)
	}
	return text
}
