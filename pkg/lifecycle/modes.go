package lifecycle

import (
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// mode is the source from which a hub learns the revisions and the results of their rollouts.
type mode interface {
	// links find the revision of today's template, in order.
	links() []link
	// history holds the revisions that can be restored.
	history() *revision.History
	// resumes reports whether a rollout continues while today's template has no revision.
	resumes(update string) bool
	// current returns the stable revision for a rollout of update, which may be nil, or why there is none.
	current(hash string, update *work.Revision) (*work.Revision, *rollout.Absence)
	// waits reports whether today's template waits for the end of a pause.
	waits(c *chain) bool
	// paused returns the update revision during the wait, and reports whether today's template needs another one.
	paused(c *chain) (update *work.Revision, pending bool)
	// complete records that the rollout of the update revision is complete.
	complete(c *chain) *Step
}

// mode returns the mode that the hub's permissions allow.
func (v *View) mode() mode {
	if v.NoHistory {
		return unrecorded{v}
	}
	return recorded{v}
}

// recorded is the mode of a hub that may read and write ControllerRevisions: they hold everything.
type recorded struct{ *View }

func (recorded) links() []link {
	return []link{
		(*chain).unusable,
		(*chain).lostStatus,
		(*chain).olderStatus,
		(*chain).unlabelled,
		(*chain).endAbort,
		(*chain).adopt,
		(*chain).settleCurrent,
		(*chain).invalidTemplate,
		(*chain).paused,
		(*chain).newTemplate,
		(*chain).undo,
	}
}

func (r recorded) history() *revision.History { return &r.History }

func (recorded) resumes(update string) bool { return update != "" }

// unrecorded is the mode of a hub that may not read ControllerRevisions: the works have the hashes, and this process remembers the rest.
// There is no revision to restore, so a rollout that fails stops.
type unrecorded struct{ *View }

func (unrecorded) links() []link {
	return []link{
		(*chain).keptStatus,
		(*chain).invalidTemplate,
		(*chain).paused,
		(*chain).templateOnWorks,
	}
}

func (unrecorded) history() *revision.History { return &revision.History{} }

func (unrecorded) resumes(string) bool { return false }

func (u unrecorded) current(string, *work.Revision) (*work.Revision, *rollout.Absence) {
	return nil, &rollout.Absence{Cause: rollout.WithoutHistory, Detail: u.HistoryNote}
}

func (unrecorded) complete(c *chain) *Step {
	c.Revisions.CurrentRevision, c.Keep = c.Update.Hash, true
	return nil
}
