package status

import (
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
)

// Told is the part of a status whose changes lead to events.
type Told struct {
	// Stage is the stage of the rollout of the revision with the hash Update; empty if none was rolled out.
	Stage  Stage
	Update string
	// Paused is true if spec.paused is true.
	Paused bool
	// Impossible is the hash of the revision whose failed rollout can't be aborted; empty for none.
	Impossible string
	// Unreached names the clusters whose agents do not receive the hub's events.
	Unreached string
	// Awaiting are the decision groups that wait for an approval.
	Awaiting []string
}

// ToldBy returns the report of a stored status, given the ledger that counts. It is for a process that has not written a status yet. The
// ledger has the decisions, and the fields of the status have the rest.
func ToldBy(stored *workv1alpha1.ManifestWorkReplicaSetStatus, l *ledger.Ledger) Told {
	told := Told{Stage: RollingOut, Update: l.Update.Hash, Paused: stored.State == workv1alpha1.StatePaused, Awaiting: stored.AwaitingApproval}
	switch {
	case l.Update.Hash == "":
		told.Stage = ""
	case l.Abort != nil && stored.State == workv1alpha1.StateAborting:
		told.Stage = Aborting
	case l.Abort != nil:
		told.Stage = Aborted
	case l.Complete():
		told.Stage = Complete
	case ToldStalled(stored):
		told.Stage = Stalled
	}
	return told
}

// ToldStalled reports whether a stored status reports a stalled rollout, given that the rollout was neither completed nor aborted. The
// state of the object may be a more urgent one, such as a pause. In that case, the state of its update revision still shows the stall.
func ToldStalled(stored *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	for i := range stored.Revisions {
		if stored.Revisions[i].Hash == stored.UpdateRevision {
			return stored.Revisions[i].State != workv1alpha1.RevisionProgressing
		}
	}
	return stored.State.IsStalled()
}

// Transition is a fact that a status reports for the first time.
type Transition string

// The transitions.
const (
	// Started means that a rollout began, or was retried after an abort.
	Started Transition = "Started"
	// Resumed means that a stalled rollout continues.
	Resumed Transition = "Resumed"
	// Stopped means that the rollout stalled.
	Stopped Transition = "Stopped"
	// Completed means that the rollout is complete.
	Completed Transition = "Completed"
	// AbortDecided means that the rollout will be aborted.
	AbortDecided Transition = "AbortDecided"
	// AbortCarriedOut means that every work that can be written is restored.
	AbortCarriedOut Transition = "AbortCarriedOut"
)

// Transitions returns the transitions between two reports of the rollout. The first report of an object has at most the transition
// Started: all others were reported before the status was lost.
func Transitions(was, is *Told) []Transition {
	switch {
	case is.Stage == RollingOut:
		return begins(was.Stage, was.Update != is.Update)
	case was.Stage == "" || was.Stage == is.Stage:
		return nil
	case is.Stage == Stalled:
		return []Transition{Stopped}
	case is.Stage == Complete:
		return []Transition{Completed}
	case is.Stage == Aborting && was.Stage != Aborted:
		return []Transition{AbortDecided}
	case is.Stage == Aborted && was.Stage == Aborting:
		return []Transition{AbortCarriedOut}
	case is.Stage == Aborted:
		return []Transition{AbortDecided, AbortCarriedOut}
	}
	return nil
}

// begins returns the transition to a rollout that is in progress. another is true if it is the rollout of another revision.
func begins(was Stage, another bool) []Transition {
	switch {
	case was == Stalled && !another:
		return []Transition{Resumed}
	case was != RollingOut || another:
		return []Transition{Started}
	}
	return nil
}
