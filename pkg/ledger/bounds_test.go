package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// A status whose stable revision was adopted counts even if the copy was lost, for example with the revision of the rollout.
func TestAdoptedRevisionIsBelieved(t *testing.T) {
	l := numbered(5)
	h := revision.History{Revisions: []revision.Revision{copied("a", 1, "", func(r *revision.Record) { r.Recorded = at(0) })}}
	require.Equal(t, int64(5), Read(&Places{Owner: uid, Status: text(l), History: h}).Ledger.Seq)
}

// The next decision can be read, regardless of the ledger's number.
func TestNextNumberCanBeRead(t *testing.T) {
	forged := numbered(maxSeq, func(l *Ledger) { l.Current = Named{} })
	found := Read(&Places{Owner: uid, Status: text(forged), History: revision.History{Revisions: []revision.Revision{copied("b", 1, text(numbered(3)))}}})
	next := found.Ledger.Clone()
	next.Seq++
	_, err := Decode(text(&next), uid)
	require.NoError(t, err)
}

// An abort at a time that JSON can't hold in UTC must not keep the ledger from being written.
func TestAbortAtTheEndOfTime(t *testing.T) {
	l := numbered(3)
	status := projected(t, l)
	late, err := time.Parse(time.RFC3339, "9999-12-31T23:59:59-01:00")
	require.NoError(t, err)
	status.AbortedTime = &metav1.Time{Time: late}
	l.Abort = CommandsIn(status, l).Abort
	_, err = l.Encode()
	require.NoError(t, err)
}
