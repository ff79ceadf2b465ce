package lifecycle

import (
	"slices"

	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// current returns the stable revision for a rollout of update, or the reason why there is none. update may be nil.
func (v *Observation) current(l *ledger.Ledger, update *work.Revision) (*work.Revision, *rollout.Absence) {
	if v.NoHistory {
		return nil, &rollout.Absence{Cause: rollout.WithoutHistory, Detail: v.HistoryNote}
	}
	hash := l.Current.Hash
	if hash == "" {
		return nil, v.neverComplete(l, update)
	}
	found, name := v.History.ByHash(hash), revision.Name(v.Object.Name, hash)
	switch {
	case found == nil && slices.Contains(v.History.Disowned, name):
		return nil, &rollout.Absence{Cause: rollout.Disowned, Revision: name}
	case found == nil:
		return nil, &rollout.Absence{Cause: rollout.Deleted, Revision: name}
	case found.Err != nil:
		return nil, &rollout.Absence{Cause: rollout.Unreadable, Detail: found.Err.Error()}
	case v.selectsBeside(l.OnlyOn):
		return nil, &rollout.Absence{Cause: rollout.OnOneCluster, Revision: name, Cluster: l.OnlyOn}
	}
	return v.withBeginning(l, work.NewRevision(found)), nil
}

// selectsBeside reports whether any cluster is selected in addition to the only cluster that had a revision. The agent of that cluster
// must not decide for the others.
func (v *Observation) selectsBeside(only string) bool {
	if only == "" {
		return false
	}
	for cluster := range placement.Owners(v.Refs) {
		if cluster != only {
			return true
		}
	}
	return false
}

// neverComplete returns why no revision is stable, and the revisions that a user can name as the stable one.
func (v *Observation) neverComplete(l *ledger.Ledger, update *work.Revision) *rollout.Absence {
	found := &rollout.Absence{Cause: rollout.NeverComplete}
	for i := range v.History.Revisions {
		rev := &v.History.Revisions[i]
		if !rev.Recorded.IsZero() {
			found.Cause = rollout.NotAdopted
		}
		if rev.Err == nil && (update == nil || rev.Hash != update.Hash) {
			found.Others = append(found.Others, rev.Hash)
		}
	}
	if l.Surpassed != "" {
		found.Cause, found.Revision = rollout.Surpassed, revision.Name(v.Object.Name, l.Surpassed)
	}
	return found
}
