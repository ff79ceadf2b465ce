package forecast

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// TestKilledHub: a hub that is killed after any write, of a cluster or of the status, and starts again comes to the same end, and starts no
// cluster twice (P5). A restart delays the next clusters by up to the settle time. So the clusters that a rollout reached before it stalled
// may differ, and every cluster must have a clear outcome: it is healthy and within its deadline, or it never succeeds.
func TestKilledHub(t *testing.T) {
	kills := map[Outcome]int{}
	rapid.Check(t, func(t *rapid.T) {
		in, _ := drawInput(t)
		in.Agents.Slow, in.Agents.Spread = 0, min(in.Agents.Spread, 0.3)
		strategy := in.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.Progressive
		if strategy.ProgressDeadline != "None" {
			strategy.ProgressDeadline = "30m"
		}
		end, writes := playKilled(t, in, 0)
		if writes == 0 {
			return
		}
		at := rapid.IntRange(1, writes).Draw(t, "killed after write")
		killed, _ := playKilled(t, in, at)
		if killed.outcome != end.outcome {
			t.Fatalf("P5: killed after write %d, the rollout is %s, and otherwise %s", at, killed.outcome, end.outcome)
		}
		if end.outcome == Complete || end.outcome == Aborted {
			require.Equal(t, end, killed, "P5: killed after write %d", at)
		}
		kills[end.outcome]++
	})
	for _, wanted := range []Outcome{Complete, Aborted, Stalled, Waiting} {
		if kills[wanted] == 0 {
			t.Errorf("no hub was killed in a story that ended as %s: %v", wanted, kills)
		}
	}
}

// ending is the final state of a run: what each cluster has and runs.
type ending struct {
	outcome   Outcome
	has, runs map[string]string
}

// playKilled plays a run whose hub is killed after a write; never if that is zero. It returns how many writes there were.
func playKilled(t *rapid.T, in *Input, at int) (end ending, writes int) {
	r := newRun(in, 0)
	r.killed = func() bool { writes++; return writes == at }
	r.watch = func(r *run, plan *rollout.Plan) {
		if plan.Abort != nil || plan.Records.Adds(&r.s.Records) {
			return // This plan is not carried out.
		}
		for i := range plan.Writes {
			if w := &plan.Writes[i]; w.Work != nil && w.Revision != nil && w.Work.At(w.Revision) {
				t.Fatalf("P5: %s has revision %s, and gets it again %s after the rollout began", w.Cluster, w.Revision.Hash, r.now.Sub(epoch))
			}
		}
	}
	result, err := r.play(always)
	require.NoError(t, err)
	end = ending{outcome: result.Outcome, has: map[string]string{}, runs: map[string]string{}}
	for i := range r.clusters {
		c := &r.clusters[i]
		if c.work == nil {
			continue
		}
		end.has[c.name], end.runs[c.name] = c.work.Hash(), c.runs
		once := map[string]int64{newer: 2, older: 3}[c.work.Hash()] // The older revision, the newer one, and back.
		if in.First {
			once = 1
		}
		if c.object.Generation > once {
			t.Fatalf("P5: the work of %s has generation %d, and revision %s", c.name, c.object.Generation, c.work.Hash())
		}
	}
	return end, writes
}
