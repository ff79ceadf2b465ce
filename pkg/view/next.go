package view

import (
	"fmt"
	"slices"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// next returns the commands that fit the state.
func (o *Objects) next(f *Fleet) []Command {
	command := func(purpose, verb, rest string) Command {
		return Command{Purpose: purpose, Line: fmt.Sprintf("kubectl mwrs %s %s -n %s%s", verb, f.Name, f.Namespace, rest)}
	}
	var commands []Command
	if len(f.Attention) > 0 && f.Attention[0].State == rollout.PhaseFailed && len(f.Notes) == 0 {
		commands = append(commands, command("see why "+f.Attention[0].Name+" failed", "why", " "+f.Attention[0].Name))
	}
	update := numberOf(o.numbers(), o.ReplicaSet.Status.UpdateRevision)
	switch f.State {
	case workv1alpha1.StateAborted, workv1alpha1.StateAborting:
		if target, err := UndoTarget(o, 0, false); err == nil {
			commands = append(commands, command(fmt.Sprintf("put revision %d back into the spec", target.Number), "undo", ""))
		}
		commands = append(commands, command(fmt.Sprintf("try revision %s again", update), "retry", ""))
	case workv1alpha1.StateStalled:
		commands = append(commands, command("retry the failed clusters", "retry", " <cluster>…"))
		commands = append(commands, o.back(command)...)
	case workv1alpha1.StateRollingOut:
		commands = append(commands, command("wait for the end", "status", ""), command("stop here", "pause", ""))
		commands = append(commands, o.back(command)...)
	case workv1alpha1.StatePaused:
		commands = append(commands, command("continue", "resume", ""))
	case workv1alpha1.StateComplete:
		if target, err := UndoTarget(o, 0, false); err == nil {
			commands = append(commands, command(fmt.Sprintf("go back to revision %d", target.Number), "undo", ""))
		}
	}
	return commands
}

// back returns the ways back from a rollout that has not ended.
func (o *Objects) back(command func(purpose, verb, rest string) Command) []Command {
	target, err := UndoTarget(o, 0, false)
	if err != nil {
		return nil
	}
	return []Command{command(fmt.Sprintf("take every cluster back to revision %d", target.Number), "abort", " --reason='…'")}
}

// UndoTarget returns the revision that an undo puts back. A number names it. Without one, it is the current revision while another is
// rolled out or was aborted, and otherwise the newest earlier revision that was current. A revision whose rollout was aborted needs force.
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
		return Revision{}, fmt.Errorf("there is no earlier revision that every cluster had; name one with --to-revision")
	}
	return revisions[at], usable(o, &revisions[at], force)
}

// usable returns why a revision can't be put back; nil if it can.
func usable(o *Objects, r *Revision, force bool) error {
	switch {
	case !r.Stored:
		return fmt.Errorf("revision %d can't be put back: ControllerRevision %s/%s is missing or can't be read", r.Number,
			o.ReplicaSet.Namespace, r.Name)
	case r.State == workv1alpha1.RevisionAborted && !force:
		return fmt.Errorf("the rollout of revision %d was aborted (%s); add --force to roll it out again", r.Number, r.AbortReason)
	}
	return nil
}
