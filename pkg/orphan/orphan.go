package orphan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Action is what comes next for a ManifestWork whose objects shall stay.
type Action string

// The actions. The first three write, the others wait.
const (
	// DropCompletion writes the ManifestWork without condition rules and ttlSecondsAfterFinished.
	DropCompletion Action = "DropCompletion"
	// Release writes the ManifestWork so that its agent gives the objects up.
	Release Action = "Release"
	// Delete deletes the ManifestWork in the version that was decided on.
	Delete Action = "Delete"
	// Wait waits for the agent.
	Wait Action = "Wait"
	// Leaving waits for the agent to let go of a ManifestWork that is being deleted. Its objects stay.
	Leaving Action = "Leaving"
	// TooLate means that the ManifestWork was being deleted before its agent gave every object up: the agent deletes the others.
	TooLate Action = "TooLate"
)

// Step is what comes next for one ManifestWork.
type Step struct {
	Action Action
	// Spec is what the ManifestWork is written with by DropCompletion and Release. It shares the manifests with the ManifestWork.
	Spec *workv1.ManifestWorkSpec
	// Unreleased are the manifests whose objects the agent tried to release and could not; empty if it has not tried.
	Unreleased []Manifest
}

// Manifest is one whose object the agent has not given up.
type Manifest struct {
	// Name is how a person calls it.
	Name string
	// Message is the agent's.
	Message string
}

// Final reports whether nothing that the agent does can change the step any more.
func (s *Step) Final() bool { return s.Action == Leaving || s.Action == TooLate }

// Next returns what comes next for a ManifestWork as the API server has it.
func Next(work *workv1.ManifestWork) Step {
	if !work.DeletionTimestamp.IsZero() {
		// The deletion made a generation of its own, which no agent applies.
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

// write returns a step that writes a spec, or waits if the ManifestWork already has it.
func write(action Action, work *workv1.ManifestWork, spec *workv1.ManifestWorkSpec) Step {
	if Equivalent(&work.Spec, spec) {
		return Step{Action: Wait}
	}
	return Step{Action: action, Spec: spec}
}

// AwaitsAgent reports whether a ManifestWork was written as released, and its agent has not applied that yet. It needs only the fields that
// a trimmed cache keeps.
func AwaitsAgent(work *workv1.ManifestWork) bool {
	return work.DeletionTimestamp.IsZero() && held(work) && orphans(&work.Spec) && !workCompleted(work) &&
		!applied(work, work.Generation)
}

// untouched reports whether no agent ever applied the ManifestWork: an agent puts its finalizer on it before. Where the finalizer is gone
// and a status is there, somebody took the finalizer off. The agent puts it back, and owns the objects meanwhile.
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

// completed reports whether the agent skips the ManifestWork, or a manifest whose object is there, because it ran to completion.
func completed(work *workv1.ManifestWork) bool {
	return workCompleted(work) || slices.ContainsFunc(work.Status.ResourceStatus.Manifests, func(m workv1.ManifestCondition) bool {
		return isComplete(&m) && !isMissing(&m)
	})
}

func isComplete(m *workv1.ManifestCondition) bool {
	return meta.IsStatusConditionTrue(m.Conditions, workv1.ManifestComplete)
}

// finished reports whether the object of a manifest ran to completion and was deleted on the cluster then, as a Job with
// ttlSecondsAfterFinished is. The agent never makes it again, and never drops its completion.
func finished(m *workv1.ManifestCondition) bool { return isComplete(m) && isMissing(m) }

func workCompleted(work *workv1.ManifestWork) bool {
	return meta.IsStatusConditionTrue(work.Status.Conditions, workv1.WorkComplete)
}

// applied reports whether the agent has applied a generation. The condition comes from one apply of one copy of the ManifestWork, so that
// its observedGeneration is true.
func applied(work *workv1.ManifestWork, generation int64) bool {
	found := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	return found != nil && found.ObservedGeneration == generation
}
