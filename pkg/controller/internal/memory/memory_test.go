package memory

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"

	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Writers of several passes note at once what they did while informers forget what is gone: none waits for another, and each note is
// told once.
func TestMemoryIsShared(t *testing.T) {
	const notes, callers = 16, 4
	m, now := New(), time.Unix(1000, 0)
	var told atomic.Int32
	workqueue.ParallelizeUntil(context.Background(), 16, notes*callers*8, func(i int) {
		object := newWork(fmt.Sprint("u", i%5), "7")
		object.Generation, object.Spec = int64(1+i%3), spec(configMap)
		w := m.Works.View(read(m.Works, object), Selection{Selected: i%2 == 0}, true, now)
		m.Works.Settle(&w, i%2 == 0, now)
		m.Works.Wrote(object, &work.Revision{Digest: "abc"})
		m.Works.Difference(object.UID, func() string {
			return "spec." + string(m.Works.Digest(object)) // It may take long: who asks in the meantime gets an answer.
		})
		gone := fmt.Sprint("demo/web", i%3)
		noteAll(m, gone, now)
		m.Owners.LostPlaces(gone)
		known(m, gone, now)
		if m.Reports.Announce("demo/stays", fmt.Sprint("note ", i%notes)) {
			told.Add(1)
		}
		if i%7 == 0 {
			m.ForgetWork(object.UID)
			m.ForgetOwner(gone)
		}
	})
	require.Equal(t, int32(notes), told.Load())
}

// noteAll makes a memory know all that it can of an owner.
func noteAll(m *Memory, owner string, now time.Time) {
	m.Owners.Attempted(owner, []Attempted{{Attempt{What: "cluster c1"}, refusedBy("a quota")}}, now)
	m.Owners.Answered(owner, "patching", refusedBy("a quota"))
	m.Owners.Dropped(owner, Status, 1, now)
	m.Owners.Decide(owner, &ledger.Ledger{Seq: 1})
	m.Owners.BeginSeen(owner, now, now)
	m.Owners.WroteBack(owner, "an abort", "c1")
	m.Reports.Announce(owner, "a note")
	m.Reports.Reported(owner, now)
}

// known counts what a memory knows of an owner.
func known(m *Memory, owner string, now time.Time) (things int) {
	m.Owners.mu.Lock()
	entry := m.Owners.look(owner)
	answered, begun := entry.answers["patching"] != nil, entry.begun != (sighting{})
	m.Owners.mu.Unlock()
	for _, knows := range []bool{
		m.Owners.RefusedLately(owner, Attempt{What: "cluster c1"}, now), answered, m.Owners.Waits(owner, Status, now),
		m.Owners.Decided(owner) != nil, begun, len(m.Owners.WrittenBack(owner).Clusters) > 0, !m.Reports.LastReport(owner).IsZero(),
	} {
		if knows {
			things++
		}
	}
	return things
}

// What is known of an owner goes away as a whole, and with it nothing of another one.
func TestForget(t *testing.T) {
	m, now := New(), time.Unix(1000, 0)
	for _, owner := range []string{"demo/web", "demo/web2"} {
		noteAll(m, owner, now)
		require.Equal(t, 7, known(m, owner, now))
	}
	m.Works.Wrote(newWork("u1", "7"), &work.Revision{Digest: "abc"})
	m.Works.Wrote(newWork("u2", "7"), &work.Revision{Digest: "abc"})
	m.ForgetOwner("demo/web")
	require.Zero(t, known(m, "demo/web", now))
	require.Equal(t, 7, known(m, "demo/web2", now))
	require.True(t, m.Reports.Announce("demo/web", "a note"), "another object with that name")
	require.Len(t, m.Works.known, 2, "its works go away one by one")
	m.ForgetWork("u1")
	require.NotContains(t, m.Works.known, newWork("u1", "").UID)
	require.Contains(t, m.Works.known, newWork("u2", "").UID)
}

// A question about an owner, or that all is well, is no reason to remember it: it may be gone already.
func TestQuestionsLeaveNothingBehind(t *testing.T) {
	m, now := New(), time.Unix(1000, 0)
	require.Zero(t, known(m, "demo/web", now))
	m.Owners.Attempted("demo/web", []Attempted{{Attempt{What: "cluster c1"}, nil}}, now)
	m.Owners.Failures("demo/web")
	m.Owners.SetBack("demo/web", now)
	m.Owners.Retries("demo/web", []string{"c1"})
	m.Owners.StillFail("demo/web", []string{"patching"})
	m.Owners.Held("demo/web", Status, 1)
	require.Empty(t, m.Owners.LostPlaces("demo/web"))
	require.Empty(t, m.Owners.known)
	require.Empty(t, m.Reports.known)
	m.Works.Stripped("u1", false, now)
	require.False(t, m.Works.StrippedLately("u1", now))
	require.Empty(t, m.Works.known)
}

// The report in the stored status is read once. After that, the reports of this process count.
func TestTell(t *testing.T) {
	m := &Reports{}
	stored := func() status.Told { return status.Told{Stage: status.Stalled} }
	tell := func(told status.Told) status.Told {
		return m.Tell("demo/web", stored, func(t *status.Told) { *t = told })
	}
	require.Equal(t, stored(), tell(status.Told{Stage: status.Complete}))
	require.Equal(t, status.Told{Stage: status.Complete}, tell(status.Told{}))
	require.Empty(t, tell(status.Told{}), "also if it told nothing")
}
