package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// GateMessage returns the reason why a success gate of a work is not True: the message of the first manifest whose rule reports this, or
// else the message of the work's own condition.
func GateMessage(work *workv1.ManifestWork, gate string) string {
	for _, status := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown} {
		if words := firstWords(work, gate, status, work.Generation); words != "" {
			return words
		}
	}
	return fmt.Sprintf("the ManifestWork has no condition %s for its generation %d", gate, work.Generation)
}

// FailureMessage returns the reason why the cluster of a work failed: the message of the success gate, if a gate failed it, or else the
// report from its agent.
func FailureMessage(work *workv1.ManifestWork, gate string) string {
	if gate != "" {
		return GateMessage(work, gate)
	}
	return AgentMessage(work)
}

// gatesNote names the clusters on which success gates are not True; empty for none.
func gatesNote(in *Input) string {
	var notes []string
	for i := range in.Plan.Gates {
		g := &in.Plan.Gates[i]
		switch {
		case g.Report:
			note := fmt.Sprintf("success gate %s of placement %s, only reported: True on %s", g.Type, g.Placement, clusters(g.True))
			if len(g.False) > 0 {
				note += ", False on " + rollout.Names(g.False)
			}
			if len(g.Open) > 0 {
				note += ", not set on " + rollout.Names(g.Open)
			}
			notes = append(notes, note)
		case len(g.Open) > 0:
			notes = append(notes, fmt.Sprintf("success gate %s of placement %s is not True yet on %s", g.Type, g.Placement, rollout.Names(g.Open)))
		}
	}
	return join(notes...)
}
