package rollout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// The effects of success gates (R48):
//
//  1. A gate that is not True turns a success into the phase validating: the cluster keeps its slot and its turn, and its deadline runs.
//  2. A verdict of False fails the cluster at once, but not while a selection is unknown (package work defines a verdict).
//  3. Gates apply only during a rollout: not in an abort, in a return to the current revision, or after completion (Gated). A cluster with
//     a recorded failure that a gate caused stays failed until its gates are True.
//  4. Over a broker, only agents set conditions, so a gate that no condition rule sets is an error in the strategy.

// gatesOf returns the enforced gates of each decision group of a placementRef, and an error if a gate can never be True.
func (ps *placementState) gatesOf(s *Snapshot) (gates [][]work.Gate, err error) {
	if len(ps.strategy.Gates) == 0 || s.Aborted {
		return nil, nil
	}
	if i := ps.impossibleGate(s); i >= 0 {
		err = fmt.Errorf("%s.rolloutStrategy.successGates[%d].conditionType: no condition rule in the template sets %s, and over a broker "+
			"nothing else can set it: add the rule, or use mode Report", ps.ref.Field, i, ps.strategy.Gates[i].ConditionType)
	}
	gates = make([][]work.Gate, len(ps.groups))
	for g := range ps.groups {
		gates[g] = gatesOfGroup(&ps.strategy, &ps.groups[g], s.Update)
	}
	return gates, err
}

// impossibleGate returns the index of the first enforced gate that can never be True because works travel over a broker; negative for
// none.
func (ps *placementState) impossibleGate(s *Snapshot) int {
	if s.Heard == nil || !s.Gated {
		return -1
	}
	for i := range ps.strategy.Gates {
		if gate := &ps.strategy.Gates[i]; gate.Enforces() && !s.Update.Gate(gate.ConditionType).Made {
			return i
		}
	}
	return -1
}

func gatesOfGroup(strategy *placement.Strategy, group *placement.Group, rev *work.Revision) (gates []work.Gate) {
	for _, conditionType := range strategy.GatesOf(group, true) {
		gates = append(gates, rev.Gate(conditionType))
	}
	return gates
}

// GatesOf returns the success gates that assess applies to each work with the update revision. A work that is being deleted, and names a
// placementRef other than the one that selects its cluster, counts for both placementRefs and has no gates.
func GatesOf(s *Snapshot) map[*work.Work][]work.Gate {
	gates, sel := map[*work.Work][]work.Gate{}, newSelection(s)
	for i := range s.Refs {
		ps := newUnjudged(s, i, sel)
		for _, m := range ps.members {
			if m.work != nil && m.work.Hash() == s.Update.Hash && (!m.work.Deleting() || m.work.PlacementName() == ps.ref.Name) {
				gates[m.work] = ps.gatesOfMember(s, m)
			}
		}
	}
	return gates
}

// assess returns the state of the work of a member that has the update revision, as its success gates allow. next is the time at which a
// gate changes that state by itself; zero if no gate does.
func (ps *placementState) assess(s *Snapshot, m *member) (found work.Assessment, next time.Time) {
	found, m.gate, next = work.Gated(m.work, s.Update, ps.gatesOfMember(s, m), s.Now, s.Settle)
	return found, next
}

// gated reports whether the gates of the placementRef apply to a member. They apply to a cluster that nothing selects, too, because the
// revision may have cut it off; but not after its success has settled.
func (ps *placementState) gated(s *Snapshot, m *member) bool {
	return m.owned || ps.selection.find(m.cluster) == nil && !m.passed(s)
}

// passed reports whether the success of a member at the update revision has settled, according to this process or the records.
func (m *member) passed(s *Snapshot) bool {
	_, recorded := s.Records.Passed[m.cluster]
	return recorded || m.work.Settled(s.Update)
}

func (ps *placementState) gatesOfMember(s *Snapshot, m *member) []work.Gate {
	if ps.gates != nil && ps.gated(s, m) && (s.Gated || s.Records.Failures[m.cluster].Reason == workv1alpha1.FailureGate) {
		return ps.gates[m.group]
	}
	return nil
}

// gatePhase computes the phase of a member that a gate keeps from succeeding. A retry gives the member time even if the gate is False.
func (ps *placementState) gatePhase(s *Snapshot, m *member) {
	m.reason = workv1alpha1.FailureGate
	if m.state == work.GateFailed && m.retriedAt.IsZero() && !ps.selection.anyUnknown {
		m.phase = failed
		return
	}
	m.phase, m.next = ps.until(s, m, validating, failed)
}

func (ps *placementState) describeGates(failed []string) string {
	var types []string
	for _, m := range ps.members {
		if m.failed() && m.gate != "" && !slices.Contains(types, m.gate) {
			types = append(types, m.gate)
		}
	}
	slices.Sort(types)
	return fmt.Sprintf("%s: %s not True, ", ps.countOf(failed), strings.TrimSpace("success gate "+strings.Join(types, ", ")))
}

// GateOutcome is the state of a success gate on the clusters of a placementRef.
type GateOutcome struct {
	Placement, Type string
	// Report is true if the gate only reports. The outcome then covers each selected cluster that has the update revision. Otherwise it covers
	// only the clusters that the gate keeps from succeeding, in Open, including those that nothing selects.
	Report bool
	// True is the number of clusters on which the condition is True. False names the clusters on which it is False. Open names the clusters on
	// which it is missing, Unknown, or about another generation.
	True        int
	False, Open []string
}

func (p *Plan) noteGates(s *Snapshot, ps *placementState) {
	if s.Aborted {
		return
	}
	for i := range ps.strategy.Gates {
		gate := &ps.strategy.Gates[i]
		outcome := GateOutcome{Placement: ps.ref.Name, Type: gate.ConditionType, Report: !gate.Enforces()}
		for _, m := range ps.members {
			switch group := &ps.groups[m.group]; {
			case !m.atUpdate || !gate.Covers(group.Name, strconv.Itoa(int(group.Index))):
			case outcome.Report && m.owned:
				outcome.add(m, s.Update.Gate(gate.ConditionType))
			case !outcome.Report && m.phase == validating && m.gate == gate.ConditionType:
				outcome.Open = append(outcome.Open, m.cluster)
			}
		}
		if outcome.True+len(outcome.False)+len(outcome.Open) > 0 {
			p.Gates = append(p.Gates, outcome)
		}
	}
}

func (o *GateOutcome) add(m *member, gate work.Gate) {
	switch m.work.GateStatus(gate) {
	case metav1.ConditionTrue:
		o.True++
	case metav1.ConditionFalse:
		o.False = append(o.False, m.cluster)
	default:
		o.Open = append(o.Open, m.cluster)
	}
}
