package orphan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Action is the next action for a ManifestWork whose objects must stay.
type Action string

// The actions. The first three write; the others wait.
const (
	// DropCompletion writes the ManifestWork without condition rules and ttlSecondsAfterFinished.
	DropCompletion Action = "DropCompletion"
	// Release writes the ManifestWork so that its agent releases the objects.
	Release Action = "Release"
	// Delete deletes the ManifestWork, but only if it has not changed since the decision.
	Delete Action = "Delete"
	// Wait waits for the agent.
	Wait Action = "Wait"
	// Leaving waits for the agent to finish with a ManifestWork that is being deleted. Its objects stay.
	Leaving Action = "Leaving"
	// TooLate means that the ManifestWork was already being deleted before its agent had released every object: the agent deletes the other
	// objects.
	TooLate Action = "TooLate"
)

// Step is the next step for one ManifestWork.
type Step struct {
	Action Action
	// Spec is the spec that DropCompletion and Release write. It shares the manifests with the ManifestWork.
	Spec *workv1.ManifestWorkSpec
	// Unreleased are the manifests whose objects the agent tried and failed to release; empty if it has not tried.
	Unreleased []Manifest
}

// Manifest is a manifest whose object the agent has not released.
type Manifest struct {
	// Name is a readable name of the object.
	Name string
	// Message is the message from the agent.
	Message string
}

// Final reports whether the agent can no longer change the next step.
func (s *Step) Final() bool { return s.Action == Leaving || s.Action == TooLate }

// Next returns the next step for a ManifestWork as the API server has it.
func Next(work *workv1.ManifestWork) Step {
	if !work.DeletionTimestamp.IsZero() {
		// The deletion increased the generation. No agent applies that generation.
		if given, _ := givenUp(work, work.Generation-1); given || untouched(work) || nothingLeft(work, work.Generation-1) {
			return Step{Action: Leaving}
		}
		return Step{Action: TooLate}
	}
	if untouched(work) {
		return Step{Action: Delete}
	}
	if nothingLeft(work, work.Generation) {
		return Step{Action: Delete}
	}
	if completed(work) {
		return write(DropCompletion, work, uncompleted(work))
	}
	given, held := givenUp(work, work.Generation)
	if given {
		return Step{Action: Delete}
	}
	step := write(Release, work, released(work))
	step.Unreleased = held
	return step
}

// write returns a step that writes a spec, or that waits if the ManifestWork already has the spec.
func write(action Action, work *workv1.ManifestWork, spec *workv1.ManifestWorkSpec) Step {
	if Equivalent(&work.Spec, spec) {
		return Step{Action: Wait}
	}
	return Step{Action: action, Spec: spec}
}

// AwaitsAgent reports whether the release of a ManifestWork was written but its agent has not applied it yet. It needs only the fields
// that a trimmed cache keeps.
func AwaitsAgent(work *workv1.ManifestWork) bool {
	return work.DeletionTimestamp.IsZero() && held(work) && orphans(&work.Spec) && !workCompleted(work) &&
		!applied(work, work.Generation)
}

// untouched reports whether no agent has ever applied the ManifestWork: an agent adds its finalizer first. If there is a status but no
// finalizer, a user removed the finalizer. The agent adds it again, and still owns the objects.
func untouched(work *workv1.ManifestWork) bool {
	reported := len(work.Status.Conditions) > 0 || len(work.Status.ResourceStatus.Manifests) > 0
	return len(work.Spec.Workload.Manifests) == 0 || !held(work) && !reported
}

func held(work *workv1.ManifestWork) bool {
	return slices.Contains(work.Finalizers, workv1.ManifestWorkFinalizer)
}

func orphans(spec *workv1.ManifestWorkSpec) bool {
	return spec.DeleteOption != nil && spec.DeleteOption.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan
}

// completed reports whether the agent skips the ManifestWork, or a manifest whose object exists, because it ran to completion.
func completed(work *workv1.ManifestWork) bool {
	return workCompleted(work) || slices.ContainsFunc(work.Status.ResourceStatus.Manifests, func(m workv1.ManifestCondition) bool {
		return isComplete(&m) && !isMissing(&m)
	})
}

func isComplete(m *workv1.ManifestCondition) bool {
	return meta.IsStatusConditionTrue(m.Conditions, workv1.ManifestComplete)
}

// finished reports whether the object of a manifest ran to completion and was then deleted on the cluster, such as a Job with
// ttlSecondsAfterFinished. The agent never creates it again, and never removes its completion.
func finished(m *workv1.ManifestCondition) bool { return isComplete(m) && isMissing(m) }

func workCompleted(work *workv1.ManifestWork) bool {
	return meta.IsStatusConditionTrue(work.Status.Conditions, workv1.WorkComplete)
}

// applied reports whether the agent has applied a generation. The condition results from one apply of one copy of the ManifestWork, so its
// observedGeneration is reliable.
func applied(work *workv1.ManifestWork, generation int64) bool {
	found := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	return found != nil && found.ObservedGeneration == generation
}
