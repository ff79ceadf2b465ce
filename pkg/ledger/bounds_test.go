package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// A status whose stable revision was adopted counts even if the copy was lost, for example with the revision of the rollout.
func TestAdoptedRevisionIsBelieved(t *testing.T) {
	l := numbered(5)
	h := revision.History{Revisions: []revision.Revision{copied("a", 1, "", func(r *revision.Record) { r.Recorded = at(0) })}}
	require.Equal(t, int64(5), Read(&Places{Owner: uid, Status: text(l), History: h}).Ledger.Seq)
}

// The next decision can be read, regardless of the number in the status.
func TestNextNumberCanBeRead(t *testing.T) {
	for _, number := range []int64{maxSeq, maxSeq - 1, maxSeq / 2} {
		forged := numbered(number, func(l *Ledger) { l.Current = Named{} })
		found := Read(&Places{Owner: uid, Status: text(forged), History: revision.History{Revisions: []revision.Revision{copied("b", 1, text(numbered(3)))}}})
		require.Equal(t, int64(3), found.Ledger.Seq)
		next := found.Ledger.Clone()
		next.Seq++
		_, err := Decode(text(&next), uid)
		require.NoError(t, err)
	}
}
