package simulation

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// gateType is the condition of the success gates in stories.
const gateType = "Tested"

// GateSays is the condition of a success gate, for a version on a cluster.
type GateSays string

// The values besides True, False and Unknown.
const (
	// GateSilent means that the condition is not set. If it was set, it is removed.
	GateSilent GateSays = ""
	// GateOlder means that the condition is True for an older generation.
	GateOlder GateSays = "older"
)

// gates contains the conditions of success gates, for versions on clusters.
type gates struct {
	// says is indexed by "cluster/version". The version alone stands for all clusters.
	says map[string]GateSays
	// shut contains the versions of clusters whose gate was ever not True, and refuted those whose gate was ever False.
	shut, refuted map[string]bool
	// decides is true if gates affect the rollout, according to the ledger. decided is its value before the last write by the hub.
	decides, decided bool
}

// gated returns a placementRef with a success gate.
func gated(ref workv1alpha1.LocalPlacementReference) workv1alpha1.LocalPlacementReference {
	ref.RolloutStrategy.SuccessGates = []workv1alpha1.SuccessGate{{ConditionType: gateType}}
	return ref
}

// Gate sets the condition of a success gate for a version. An empty cluster stands for all.
func (w *World) Gate(cluster, version string, says GateSays) {
	if w.gates.says == nil {
		w.gates.says, w.gates.shut, w.gates.refuted = map[string]GateSays{}, map[string]bool{}, map[string]bool{}
	}
	w.gates.says[cluster+"/"+version] = says
	w.agentsSaw = 0
	w.Tell("gate: %q about %s on %s", says, version, cluster)
}

// gateSays returns the condition of the gate for the content of a work.
func (w *World) gateSays(work *workv1.ManifestWork) GateSays {
	if says, ok := w.gates.says[work.Namespace+"/"+Version(work)]; ok {
		return says
	}
	return w.gates.says["/"+Version(work)]
}

// setGates sets the conditions of the success gates on all works. Over a broker, nothing can.
func (w *World) setGates() {
	if w.gates.says == nil || w.Network != nil {
		return
	}
	for _, work := range w.Works() {
		if !owned(work) || w.adversaries.clusters.Has(work.Namespace) || !work.DeletionTimestamp.IsZero() {
			continue
		}
		status := work.Status.DeepCopy()
		says, about := w.gateSays(work), work.Namespace+"/"+Version(work)
		w.gates.shut[about] = w.gates.shut[about] || says != "True"
		w.gates.refuted[about] = w.gates.refuted[about] || says == "False"
		condition := metav1.Condition{
			Type: gateType, Status: metav1.ConditionStatus(says), Reason: "Simulated", ObservedGeneration: work.Generation,
			LastTransitionTime: metav1.NewTime(w.Clock.Now()),
		}
		known := meta.FindStatusCondition(status.Conditions, gateType)
		switch {
		case says == GateSilent:
			meta.RemoveStatusCondition(&status.Conditions, gateType)
		case says == GateOlder:
			condition.Status, condition.ObservedGeneration = metav1.ConditionTrue, work.Generation-1
			meta.SetStatusCondition(&status.Conditions, condition)
		case known == nil || known.Status != condition.Status || known.ObservedGeneration != condition.ObservedGeneration:
			meta.RemoveStatusCondition(&status.Conditions, gateType) // A verdict about another generation has its own time.
			meta.SetStatusCondition(&status.Conditions, condition)
		}
		if !slices.Equal(status.Conditions, work.Status.Conditions) {
			w.patch(Works, work.Namespace, work.Name, map[string]any{"status": map[string]any{"conditions": from(status).Object["conditions"]}}, true)
		}
	}
}

// gateOpen reports whether a work, as the hub saw it, may count as succeeded: its ref has no gate, or the gate is True.
func (w *World) gateOpen(work *workv1.ManifestWork) bool {
	if !w.hasGate(work.Labels[workv1alpha1.LabelPlacement]) {
		return true
	}
	found := meta.FindStatusCondition(work.Status.Conditions, gateType)
	return found != nil && found.Status == metav1.ConditionTrue && found.ObservedGeneration == work.Generation
}

// hasGate reports whether a placementRef has an enforced success gate.
func (w *World) hasGate(placement string) bool {
	owner := w.seen()
	return owner != nil && slices.ContainsFunc(owner.Spec.PlacementRefs, func(ref workv1alpha1.LocalPlacementReference) bool {
		return ref.Name == placement && len(ref.RolloutStrategy.SuccessGates) > 0 && ref.RolloutStrategy.SuccessGates[0].Enforces()
	})
}

// gateFails reports whether a success gate may have failed a cluster: it was False, or was not True at some time and the deadline has passed.
func (w *World) gateFails(owner *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork) bool {
	about := work.Namespace + "/" + Version(work)
	_, past := w.pastDeadline(owner, work)
	return w.hasGate(work.Labels[workv1alpha1.LabelPlacement]) && (w.gates.refuted[about] || past && w.gates.shut[about])
}
