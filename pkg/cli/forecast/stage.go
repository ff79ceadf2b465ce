package forecast

import (
	"cmp"
	"fmt"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// stage is the state that all runs of an input share. It does not depend on chance, and no run changes it.
type stage struct {
	in              *Input
	update, current *work.Revision
	refs            []placement.Ref
	limits          []rollout.Limits
	// resolution is the interval between two reads of the reports.
	resolution time.Duration
	// sites are the clusters in the order of the placementRefs and groups. index finds them by name.
	sites []site
	index map[string]int
}

// site is a cluster and the index of its placementRef. gated is true if it has a success gate.
type site struct {
	name  string
	ref   int
	gated bool
}

func newStage(in *Input) *stage {
	st := &stage{in: in, resolution: in.Resolution, index: map[string]int{}}
	switch {
	case st.resolution > 0:
	case in.Agents.Spread == 0: // All clusters need the same time: nothing would be saved, and the rounding would not cancel out.
		st.resolution = time.Millisecond
	default:
		st.resolution = max(in.Agents.Apply/3, time.Millisecond)
	}
	st.update, st.current = revisionsOf(in)
	for i := range in.ReplicaSet.Spec.PlacementRefs {
		ref := &in.ReplicaSet.Spec.PlacementRefs[i]
		st.refs = append(st.refs, placement.Ref{
			Name: ref.Name, Field: fmt.Sprintf("spec.placementRefs[%d]", i), Strategy: ref.RolloutStrategy, Placement: in.Placements[ref.Name],
		})
		if !firstRef(in.ReplicaSet.Spec.PlacementRefs, i) {
			continue
		}
		for g := range in.Placements[ref.Name].Groups {
			group := &in.Placements[ref.Name].Groups[g]
			for _, name := range group.Clusters {
				st.index[name] = len(st.sites)
				st.sites = append(st.sites, site{name: name, ref: i, gated: gated(&ref.RolloutStrategy, group)})
			}
		}
	}
	s := st.snapshot(nil)
	st.limits = rollout.LimitsOf(&s)
	return st
}

// snapshot returns the snapshot with which each run begins.
func (st *stage) snapshot(works []work.Work) rollout.Snapshot {
	s := rollout.Snapshot{
		Now: epoch, Fleet: rollout.Fleet{Works: works, Settle: cmp.Or(st.in.Settle, Settle)}, Owner: "simulated.simulated",
		Update: st.update, Current: st.current, Refs: st.refs, Began: epoch, Approved: approvals(st.refs),
	}
	if s.Current == nil {
		s.Absent = &rollout.Absence{Cause: rollout.NeverComplete}
	}
	return s
}

// revisionsOf returns the newer and the older revision. The older revision has the same rules and works everywhere. No decision reads the
// manifests of their templates.
func revisionsOf(in *Input) (update, current *work.Revision) {
	template := &workv1.ManifestWorkSpec{}
	if in.Rules.Progressing {
		rules := []workv1.ConditionRule{{Condition: workv1.ManifestProgressing}}
		template.ManifestConfigs = []workv1.ManifestConfigOption{{ConditionRules: rules}}
	}
	make := func(hash string) *work.Revision {
		return &work.Revision{
			Name: revision.Name(in.ReplicaSet.Name, hash), Hash: hash, Digest: revision.Digest(hash), Template: template,
			ReportsDegraded: in.Rules.Degraded,
		}
	}
	update = make(newer)
	if in.First {
		return update, nil
	}
	return update, make(older)
}
