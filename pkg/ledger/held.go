package ledger

import (
	"cmp"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Hold aborts the rollout that has just begun if the last rollout of its revision was aborted (R44). reached is how many clusters still
// have that revision. It does not hold the stable revision.
func (l *Ledger) Hold(update *revision.Revision, at time.Time, reached int) {
	if update == nil || update.Abort == nil || update.Hash == l.Current.Hash {
		return
	}
	earlier := update.Abort
	l.AbortWith(&revision.Abort{
		At: at.Truncate(time.Second), By: earlier.By, Reason: earlier.Reason, Held: cmp.Or(earlier.Held, earlier.At),
	}, reached)
}
