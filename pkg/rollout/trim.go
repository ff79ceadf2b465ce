package rollout

import (
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// When kept objects of an older revision are deleted (R31, R32):
//
//  1. A cluster whose success is settled while its work has kept objects is handing over. It keeps its slot.
//  2. The exact revision is then written to the cluster, at most one batch of clusters at a time. A mandatory group is trimmed at once.
//  3. If too many clusters have failed, nothing is trimmed: an abort may need the kept objects.
//  4. In an abort each cluster is trimmed independently, once its success at the restored revision is settled.

// trimmed is the reason for trimming a work.
const trimmed = "it is available: the kept objects are removed"

func (p *Plan) trim(s *Snapshot, ps *placementState, outcome *RefOutcome) {
	if ps.err != nil || outcome.Halted && !s.returns() {
		return
	}
	free := slots{}
	for _, m := range ps.members {
		if m.phase != handingOver || m.written {
			continue
		}
		if !ps.mandatory(m.group) && !free.take(ps.pool(m), ps.trimSlots) {
			continue
		}
		p.write(s, ps, m, s.Update, trimmed)
	}
}

// trimSlots returns how many clusters of a pool may be trimmed at a time. More clusters than a batch hand over only after an abort, which
// writes to all clusters at once. A trimmed cluster is in flight again (P4).
func (ps *placementState) trimSlots(pool int) int {
	return ps.freeIn(pool) + ps.countIn(pool, func(m *member) bool { return m.phase == handingOver })
}

func (p *Plan) trims(s *Snapshot, w *work.Work) bool {
	if !s.Handover.keeps() || !w.InHandover() || work.Assess(w, s.Current, s.Now).State != work.Succeeded {
		return false
	}
	phase, ripe := soakPhase(s, w, time.Time{})
	p.recheckAt(s.Now, ripe)
	return phase == succeeded
}
