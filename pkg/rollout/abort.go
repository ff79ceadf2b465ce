package rollout

import (
	"fmt"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// When a rollout is aborted, and how its clusters are restored (R12):
//
//  1. A rollout in progress is aborted when a placementRef with failureStrategy AbortAll has failed (decideAbort; see failed.go), when a
//     user aborts it (obeyAbort in package lifecycle), or when it begins with an aborted revision under abortedRevisionPolicy Hold (Hold
//     in package ledger).
//  2. It is not aborted if there is no revision to return to (Absence), or if it is an undo: otherwise one silent cluster would return all
//     others to the revision that the user rolled back.
//  3. The abort is persisted first (R42). A pause delays it.
//  4. While aborted, the current revision is written to every cluster at once, regardless of the strategies. This includes clusters whose
//     Placement is missing and clusters that no placementRef selects (planRollback).
//  5. failureStrategy ReportAbort only reports what AbortAll would decide: no cluster is restored.
//  6. If the template returns to the current revision, or to an earlier one within the rollback window, each cluster that left that
//     revision gets it back at once (returnAtOnce).

// AbortBlock is the reason why a failed placementRef with failureStrategy AbortAll or ReportAbort does not lead to an abort. Package status
// writes the message.
type AbortBlock string

// The reasons for an AbortBlock.
const (
	// NoBlock means that nothing keeps the rollout from being aborted, or that no placementRef requests an abort.
	NoBlock AbortBlock = ""
	// BlockedByAbsence means that there is no revision to roll back to.
	BlockedByAbsence AbortBlock = "Absence"
	// BlockedByUndo means that the rollout is an undo: the hub does not return to the revision that the user rolled back.
	BlockedByUndo AbortBlock = "Undo"
)

func (s *Snapshot) desired() *work.Revision {
	if s.Aborted {
		return s.Current
	}
	return s.Update
}

// canBeAborted reports whether a failure can abort the rollout, now or later: there is a current revision other than the update revision,
// and the rollout is not an undo. Such a rollout is not complete while an outcome could still abort it (outcome).
func (s *Snapshot) canBeAborted() bool {
	return !s.Aborted && s.Current != nil && s.Current.Hash != s.Update.Hash && !s.undoes()
}

// undoes reports whether the rollout is an undo: its revision was current before, and is older than the current revision.
func (s *Snapshot) undoes() bool {
	return s.Undo && s.Current != nil && s.Current.Hash != s.Update.Hash
}

// returns reports whether the template has returned to a revision that every cluster gets at once: the current revision, during another
// rollout, or an earlier revision within the rollback window.
func (s *Snapshot) returns() bool {
	if s.Aborted || s.Current == nil {
		return false
	}
	return s.FastUndo || s.Current.Hash == s.Update.Hash && s.Update.Underway
}

// decideAbort decides whether the rollout is aborted, and reports the decision. Code that delays an abort must also call recheckAt, and
// keep the rollout from completing or stalling (setCompletion).
func (p *Plan) decideAbort(s *Snapshot, states []*placementState) bool {
	var aborts, reports []string
	for i, ps := range states {
		if !p.Refs[i].Failed || !ps.strategy.DecidesAbort() {
			continue
		}
		reason := fmt.Sprintf("placement %s: %s", ps.ref.Name, ps.describeFailed())
		if ps.strategy.AbortAll {
			aborts = append(aborts, reason)
		} else {
			reports = append(reports, reason)
		}
	}
	switch {
	case len(aborts)+len(reports) == 0:
	case s.Current == nil:
		p.AbortBlocked = BlockedByAbsence
	case s.undoes():
		p.AbortBlocked = BlockedByUndo
	case !s.canBeAborted():
	case len(aborts) > 0:
		p.Abort = &Abort{Reason: strings.Join(aborts, "; ")}
	case !s.Paused: // A pause holds an abort back.
		p.WouldAbort = &Abort{Reason: strings.Join(reports, "; ")}
	}
	return p.Abort != nil
}

func (p *Plan) planRollback(s *Snapshot, states []*placementState, sel *selection) {
	if s.Current == nil {
		return
	}
	// A work is rolled back if it does not have the restored revision, or still has kept objects.
	p.writeEverywhere(s, states, sel, s.Current, "aborted", func(w *work.Work) bool { return !w.At(s.Current) || p.trims(s, w) })
	p.Records.Unrestored = p.rejectedRestorations(s)
	p.Behind = p.Deferred
	for i := range p.Writes {
		cluster := p.Writes[i].Cluster
		if _, isRejected := s.Rejected[cluster]; !isRejected && !s.WrittenBack[cluster] && !p.Writes[i].Trim {
			p.Behind++
		}
	}
}

// If the template has returned, returnAtOnce writes the update revision to every cluster that left it. Clusters without a work, and
// clusters whose work was edited by hand, follow the strategy.
func (p *Plan) returnAtOnce(s *Snapshot, states []*placementState, sel *selection) {
	if s.returns() {
		left := func(w *work.Work) bool { return w.HasOther(s.Update) }
		p.writeEverywhere(s, states, sel, s.Update, "the template has returned to this revision", left)
	}
}

// writeEverywhere writes a revision to every cluster that needs it, regardless of strategies and halts. The work of a cluster may be nil.
func (p *Plan) writeEverywhere(
	s *Snapshot, states []*placementState, sel *selection, rev *work.Revision, why string, needs func(*work.Work) bool,
) {
	reason := func(w *work.Work) string {
		if w.At(rev) {
			return trimmed
		}
		return why
	}
	for _, ps := range states {
		for _, m := range ps.members {
			if m.writable() && needs(m.work) {
				p.write(s, ps, m, rev, reason(m.work))
				m.written = true
			}
		}
	}
	for _, w := range sel.unselected {
		if !needs(w) {
			continue
		}
		p.add(s, Write{Action: Update, Cluster: w.Cluster(), Placement: w.PlacementName(), Work: w, Why: reason(w)}, rev)
		if index, named := sel.first[w.PlacementName()]; named {
			states[index].returning++
		}
	}
}
