package v1alpha1

import (
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"
)

// MaxSuccessGates is the largest number of success gates of a strategy.
const MaxSuccessGates = 8

// SuccessGate is a condition of a cluster's ManifestWork that the success of the cluster depends on.
type SuccessGate struct {
	// conditionType is the type of the condition, for example SmokePassed or example.com/ErrorRate. A condition rule in the template sets the
	// condition, or a user or a controller sets it in the status of the ManifestWork. It counts only if its observedGeneration is the
	// generation of the ManifestWork. If a rule sets it, False counts before progressDeadline only if each manifest with this rule also has a
	// rule for Progressing. The types Applied, Available, Progressing, Degraded and Complete are not allowed, because the hub already
	// evaluates them.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])$`
	ConditionType string `json:"conditionType"`

	// groups lists up to 64 decision groups, by name or by index as a string. The gate applies to their clusters. By default, the gate
	// applies to all clusters.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	Groups []string `json:"groups,omitempty"`

	// mode determines the effect of the gate. With Enforce, the default, a cluster succeeds only if the condition is True, and fails when the
	// condition becomes False. With Report, the gate has no effect on the rollout: the hub only reports the condition in ManifestworkApplied.
	// +optional
	Mode GateMode `json:"mode,omitempty"`
}

// GateMode determines the effect of a success gate.
// +kubebuilder:validation:Enum=Enforce;Report
type GateMode string

const (
	// EnforceGate means that a cluster succeeds only if the condition is True, and fails when it becomes False.
	EnforceGate GateMode = "Enforce"
	// ReportGate means that the hub only reports the condition.
	ReportGate GateMode = "Report"
)

// Enforces reports whether the gate determines whether clusters succeed.
func (g *SuccessGate) Enforces() bool { return g.Mode != ReportGate }

// Covers reports whether a gate applies to the clusters of a decision group, given the group's name and its index as text.
func (g *SuccessGate) Covers(name, index string) bool {
	return len(g.Groups) == 0 || slices.Contains(g.Groups, index) || name != "" && slices.Contains(g.Groups, name)
}

// JudgedByHub lists the condition types that can't be gates, because the hub already evaluates them.
var JudgedByHub = []string{workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkProgressing, workv1.WorkDegraded, workv1.WorkComplete}
