package view

import (
	"fmt"
	"slices"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// next returns the commands that apply to the state.
func (o *Objects) next(f *Fleet) []Command {
	command := func(purpose, verb, rest string) Command {
		return Command{Purpose: purpose, Line: fmt.Sprintf("kubectl mwrs %s %s%s -n %s", verb, f.Name, rest, f.Namespace)}
	}
	var commands []Command
	if len(f.Attention) > 0 && f.Attention[0].State == StateFailed {
		commands = append(commands, command("see why "+f.Attention[0].Name+" failed", "why", " "+f.Attention[0].Name))
	}
	update := numberOf(o.numbers(), o.ReplicaSet.Status.UpdateRevision)
	switch f.State {
	case workv1alpha1.StateAborted, workv1alpha1.StateAborting:
		if target, err := UndoTarget(o, 0, false); err == nil {
			commands = append(commands, command(fmt.Sprintf("restore revision %d in the spec", target.Number), "undo", ""))
		}
		commands = append(commands, command(fmt.Sprintf("roll out revision %s again", update), "retry", ""))
	case workv1alpha1.StateStalled:
		commands = append(commands, o.retry(command)...)
		commands = append(commands, o.back(command)...)
	case workv1alpha1.StateRollingOut:
		commands = append(commands, command("wait until the rollout ends", "status", ""), command("pause the rollout", "pause", ""))
		commands = append(commands, o.back(command)...)
	case workv1alpha1.StatePaused:
		commands = append(commands, command("resume the rollout", "resume", ""))
	case workv1alpha1.StateInvalid:
		commands = append(commands, Command{
			Purpose: "correct the spec", Line: fmt.Sprintf("kubectl edit manifestworkreplicaset %s -n %s", f.Name, f.Namespace),
		})
	case workv1alpha1.StateComplete:
		commands = append(commands, o.retry(command)...)
		if target, err := UndoTarget(o, 0, false); err == nil {
			commands = append(commands, command(fmt.Sprintf("restore revision %d", target.Number), "undo", ""))
		}
	}
	return commands
}

// retry returns the command that retries the failed clusters; nil if none has failed.
func (o *Objects) retry(command func(purpose, verb, rest string) Command) []Command {
	if len(o.ReplicaSet.Status.Failures) == 0 {
		return nil
	}
	return []Command{command("retry the failed clusters", "retry", "")}
}

// back returns the command that aborts the rollout. It returns nil if there is no revision to return to.
func (o *Objects) back(command func(purpose, verb, rest string) Command) []Command {
	current := o.ReplicaSet.Status.CurrentRevision
	if current == "" || current == o.ReplicaSet.Status.UpdateRevision {
		return nil
	}
	return []Command{command("return every cluster to revision "+numberOf(o.numbers(), current), "abort", " --reason='…'")}
}

// UndoTarget returns the revision that an undo restores. A nonzero number selects that revision. Otherwise, the target is the current
// revision if the update revision differs from it, or else the newest earlier revision that was current and was not aborted. An aborted
// revision requires force.
func UndoTarget(o *Objects, number int64, force bool) (Revision, error) {
	revisions := Revisions(o)
	wanted := func(r *Revision) bool { return r.Number == number }
	switch {
	case number != 0:
	case o.ReplicaSet.Status.UpdateRevision != o.ReplicaSet.Status.CurrentRevision:
		wanted = func(r *Revision) bool { return r.Current }
	default:
		wanted = func(r *Revision) bool {
			return !r.Current && r.WasCurrent && r.State != workv1alpha1.RevisionAborted
		}
	}
	at := slices.IndexFunc(revisions, func(r Revision) bool { return wanted(&r) })
	switch {
	case at < 0 && number != 0:
		return Revision{}, fmt.Errorf("there is no revision %d; see `kubectl mwrs history %s`", number, o.ReplicaSet.Name)
	case at < 0:
		return Revision{}, fmt.Errorf("there is no earlier revision that reached every cluster; select one with --to-revision")
	}
	return revisions[at], usable(o, &revisions[at], force)
}

// usable returns an error if the revision can't be restored.
func usable(o *Objects, r *Revision, force bool) error {
	switch {
	case !r.Stored:
		return fmt.Errorf("revision %d can't be restored: ControllerRevision %s/%s is missing or can't be read", r.Number,
			o.ReplicaSet.Namespace, r.Name)
	case r.State == workv1alpha1.RevisionAborted && !force:
		return fmt.Errorf("the rollout of revision %d was aborted (%s); add --force to roll it out again", r.Number, r.AbortReason)
	}
	return nil
}
