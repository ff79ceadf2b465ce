package cloudevents

import (
	"runtime"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

const orphan = `{"spec":{"deleteOption":{"propagationPolicy":"Orphan"}}}`

func count(events []string, event string) int {
	n := 0
	for _, found := range events {
		if found == event {
			n++
		}
	}
	return n
}

// looked waits until no timer for a work is pending.
func (r *rig) looked(uid types.UID) {
	r.t.Helper()
	r.eventually("its write is confirmed", func() bool {
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		record := r.store.records[uid]
		return record == nil || record.write == nil
	})
}

// answers makes the agent of a work report it as applied and available, and waits until the hub has read the report.
func (r *rig) answers(uid types.UID) {
	r.t.Helper()
	told := r.store.get(uid).DeepCopy()
	told.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, told.Generation), condition(workv1.WorkAvailable, told.Generation)}
	r.wire.tell(r.t, told)
	r.eventually("the report is read", func() bool { return confirmed(r.store.get(uid)) })
}

// An event that the broker lost is sent again until the agent reports the work.
func TestLostEventIsSentAgain(t *testing.T) {
	r := newRig(t, nil)
	work := r.create(owned("c1", "v1"))
	sentAgain := func(times int) func() bool {
		return func() bool { return count(r.wire.said(), "spec resync_response c1") >= times }
	}
	r.clock.Step(confirmAfter)
	r.eventually("it is sent again", sentAgain(1))
	r.eventually("a report may have been lost too", func() bool { return count(r.wire.said(), "status resync_request c1") == 1 })
	r.eventually("and again", func() bool {
		r.clock.Step(confirmAfter)
		return sentAgain(2)()
	})
	require.Equal(t, work.Generation, r.store.get(work.UID).Generation)
	r.answers(work.UID)
	r.clock.Step(longestPause)
	r.looked(work.UID)

	require.NoError(t, r.cluster("c1").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	r.clock.Step(confirmAfter)
	r.eventually("so is a deletion", func() bool { return r.wire.deletions() >= 2 })
}

// The timer of an older write does not resend a newer write.
func TestTimerBelongsToItsWrite(t *testing.T) {
	r := newRig(t, nil)
	created := r.create(owned("c1", "v1"))
	r.clock.Step(confirmAfter - time.Second)
	_, err := r.patch(created, orphan)
	require.NoError(t, err)
	r.clock.Step(2 * time.Second)
	r.answers(created.UID)
	r.clock.Step(confirmAfter)
	r.looked(created.UID)
	require.Equal(t, []string{"status resync_request", "spec create_request c1", "spec update_request c1"}, r.wire.said())
}

// A resend does not wait for a writer, which may itself wait for the broker, and no writer waits for a resend.
func TestConfirmingTakesNoWritersLock(t *testing.T) {
	r := newRig(t, nil)
	created := r.create(owned("c1", "v1"))
	held, patched := make(chan struct{}), make(chan error)
	r.wire.meanwhile(func(event cloudevents.Event) {
		if action(event) == eventtypes.UpdateRequestAction {
			<-held
		}
	})
	go func() {
		_, err := r.patch(created, orphan)
		patched <- err
	}()
	r.eventually("a writer waits", func() bool { return count(r.wire.said(), "spec update_request c1") == 1 })
	r.clock.Step(confirmAfter)
	r.eventually("the first write is sent again", func() bool { return count(r.wire.said(), "spec resync_response c1") == 1 })
	close(held)
	require.NoError(t, <-patched)
}

// If a work is deleted while it is being sent again, the agent deletes it, too.
func TestResentAndDeletedAtOnce(t *testing.T) {
	r := newRig(t, nil)
	r.create(owned("c1", "v1"))
	deleted := make(chan error, 1)
	r.wire.meanwhile(func(event cloudevents.Event) {
		if action(event) == eventtypes.ResyncResponseAction {
			deleted <- r.cluster("c1").Delete(t.Context(), "web", metav1.DeleteOptions{})
		}
	})
	r.clock.Step(confirmAfter)
	require.NoError(t, <-deleted)
	r.eventually("the deletion comes last", func() bool { return r.wire.deletions() == 2 })
}

// An agent reports a work before the writer learns that the work was sent. The hub does not send the same content again (P5), and the
// report counts.
func TestReportBeforeTheWriteHasEnded(t *testing.T) {
	r := newRig(t, fakeOwners{"ns/web": nil})
	work := owned("c1", "v1")
	for _, do := range []struct {
		write  func() (*workv1.ManifestWork, error)
		action eventtypes.EventAction
	}{
		{func() (*workv1.ManifestWork, error) { return r.create(work), nil }, eventtypes.CreateRequestAction},
		{func() (*workv1.ManifestWork, error) { return r.patch(work, orphan) }, eventtypes.UpdateRequestAction},
	} {
		r.wire.meanwhile(func(event cloudevents.Event) {
			if action(event) != do.action {
				return
			}
			told := r.wire.last(t)
			told.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, told.Generation)}
			r.wire.tell(t, told)
			r.eventually("the report is at work", func() bool {
				r.store.mu.Lock()
				defer r.store.mu.Unlock()
				return r.store.reports[told.UID] != nil && r.tasks.Len() == 0
			})
			for range 1000 {
				runtime.Gosched()
			}
		})
		written, err := do.write()
		require.NoError(t, err)
		r.eventually("the report counts", func() bool { return confirmed(r.store.get(written.UID)) })
		require.Equal(t, written.Generation, r.store.get(written.UID).Generation)
	}
	require.Equal(t, []string{"status resync_request", "spec create_request c1", "spec update_request c1"}, r.wire.said())
}

// The broker accepted a write, but the writer got an error. The writer gets time to retry before the hub returns the cluster to the content
// that it still holds (P5).
func TestWriteThatArrivedAndFailed(t *testing.T) {
	r := newRig(t, nil)
	work := r.create(owned("c1", "v1"))
	failed := r.store.nextGeneration(work.Namespace, 0) // A failed patch uses up a generation, too.
	told := work.DeepCopy()
	told.Generation = failed
	told.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, failed)}
	r.wire.tell(t, told)
	r.eventually("the report is read", func() bool {
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		kept := r.store.reports[work.UID]
		return kept != nil && !kept.kept.unexpected.IsZero()
	})
	require.Equal(t, work.Generation, r.store.get(work.UID).Generation)
	r.eventually("no write was retried, so the cluster gets what the hub has", func() bool {
		r.clock.Step(confirmAfter)
		return r.store.get(work.UID).Generation > failed
	})
	require.Contains(t, r.wire.said(), "spec update_request c1")
}

// A live read before an abort includes the reports that have arrived, even if the hub has not read them yet.
func TestGetReadsWhatHasCome(t *testing.T) {
	r := newRig(t, nil)
	work := r.create(owned("c1", "v1"))
	told := work.DeepCopy()
	told.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, told.Generation)}
	event := r.wire.report(t, told)
	r.wire.arrived.Add(1) // The report has arrived, but the hub has not read it.
	found := make(chan *workv1.ManifestWork)
	go func() {
		got, err := r.cluster("c1").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Error(err)
		}
		found <- got
	}()
	r.eventually("the agent is asked", func() bool { return count(r.wire.said(), "status resync_request c1") == 1 })
	select {
	case <-found:
		t.Fatal("there is more to read")
	case r.wire.received <- delivery{event, "c1"}:
	}
	require.True(t, confirmed(<-found))
}

// A report that the broker lost, or that an older report overtook, arrives when the hub asks the agent again. Until then, no failure
// counts.
func TestGetWaitsForTheAnswer(t *testing.T) {
	r := newRig(t, nil)
	work := r.create(owned("c1", "v1"))
	lost := work.DeepCopy()
	lost.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, lost.Generation)}
	answer := r.wire.report(t, lost)
	r.wire.meanwhile(func(event cloudevents.Event) {
		if action(event) == eventtypes.ResyncRequestAction {
			go r.wire.sends(answer, "c1") // The agent answers after the question was sent.
		}
	})
	got, err := r.cluster("c1").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.True(t, confirmed(got))
	require.Zero(t, r.store.records[workUID("c1", "web")].readers)
}

// An agent that is offline does not answer. The last known state of its work counts.
func TestGetDoesNotWaitForLong(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.create(owned("c1", "v1"))
	got, err := r.cluster("c1").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.False(t, confirmed(got))
	require.Zero(t, r.store.records[workUID("c1", "web")].readers)
}
