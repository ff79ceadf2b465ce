package simulation

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// machineClock is the clock of the hub's machine.
type machineClock struct{ world *World }

// Now implements clock.PassiveClock.
func (c machineClock) Now() time.Time { return c.world.hubNow() }

// Since implements clock.PassiveClock.
func (c machineClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// clocks contains the world's data about the hub's clock, and about the times that the hub recorded. The checks compare only true times.
type clocks struct {
	// setBacks records when the hub's clock was set back, and by how much.
	setBacks []setBack
	// stamps holds the last time that the hub wrote on each object. written holds the true time of each of these writes, by object and stamp.
	stamps  map[string]string
	written map[string]time.Time
	// retriedAt is the time at which the annotation last caused a retry. retryAwaited is true if the hub's clock has not yet reached the time
	// in the annotation.
	retriedAt    time.Time
	retryAwaited bool
}

// setBack is a time at which the hub's clock was set back.
type setBack struct {
	at time.Time
	by time.Duration
}

// hubNow returns the time by the clock of the hub's machine.
func (w *World) hubNow() time.Time { return w.Clock.Now().Add(w.HubAhead) }

// SetBack sets the clock of the hub's machine back. A heartbeat notices this within a second. In a simulation, the clock itself never shows
// it.
func (w *World) SetBack(by time.Duration) {
	w.Tell("the clock of the hub's machine is set back by %s", by)
	w.HubAhead -= by
	w.clocks.setBacks = append(w.clocks.setBacks, setBack{at: w.Clock.Now(), by: by})
	w.clocks.retryAwaited = w.annotatedRetry().After(w.hubNow())
	w.Hub.connection.Restart()
}

// shownAt returns the time that the clock of the hub's machine showed at a given time.
func (w *World) shownAt(at time.Time) time.Time {
	shown := at.Add(w.HubAhead)
	for _, back := range w.clocks.setBacks {
		if back.at.After(at) {
			shown = shown.Add(back.by)
		}
	}
	return shown
}

// noteStamp notes when the hub wrote a time on a work or a revision.
func (w *World) noteStamp(write string) {
	if _, name, ok := strings.Cut(write, " work "); ok {
		namespace, name, _ := strings.Cut(name, "/")
		if work := w.work(namespace, name); work != nil {
			w.noteWritten(workKey(work), work.Annotations[workv1alpha1.AnnotationAppliedAt])
		}
	}
	if _, name, ok := strings.Cut(write, " revision "); ok {
		if rev, err := w.API.Get(Revisions, Namespace, name); err == nil {
			if retried := revision.RecordOf(as[appsv1.ControllerRevision](w.API, rev)).Retried; !retried.IsZero() {
				w.noteWritten(name, retried.Format(time.RFC3339Nano))
			}
		}
	}
}

func (w *World) noteWritten(object, stamp string) {
	if stamp != "" && w.clocks.stamps[object] != stamp {
		w.clocks.stamps[object], w.clocks.written[object+" "+stamp] = stamp, w.Clock.Now()
	}
}

func workKey(work *workv1.ManifestWork) string { return "work " + key(work.Namespace, work.Name) }

// writtenAt returns the true time at which the hub wrote its revision to a work. A time that another writer set counts unchanged.
func (w *World) writtenAt(work *workv1.ManifestWork) (at time.Time, known bool) {
	return w.trueTime(workKey(work), work.Annotations[workv1alpha1.AnnotationAppliedAt])
}

// trueTime returns the time at which the hub wrote a time on an object.
func (w *World) trueTime(object, stamp string) (at time.Time, known bool) {
	if at, known := w.clocks.written[object+" "+stamp]; known {
		return at, true
	}
	at, err := time.Parse(time.RFC3339Nano, stamp)
	return at, err == nil
}

// hubSettled reports whether the hub's clock has run for a time since it was last set back. A time that the hub wrote before that may be in
// the future, and then counts from when each process first saw it.
func (w *World) hubSettled(during time.Duration) bool {
	n := len(w.clocks.setBacks)
	return n == 0 || w.Clock.Since(w.clocks.setBacks[n-1].at) >= during && w.Clock.Since(w.Hub.began) >= during
}

// annotatedRetry returns the time in the retry annotation; zero if there is none.
func (w *World) annotatedRetry() time.Time {
	object := w.Object()
	if object == nil {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, object.Annotations[workv1alpha1.AnnotationRetry])
	return at
}

// forgetRetriedFacts forgets the facts that the annotation retries. It does so when the hub's clock reaches that time, and again if the
// clock was set back.
func (w *World) forgetRetriedFacts() {
	if at := w.annotatedRetry(); w.clocks.retryAwaited && !at.IsZero() && !w.hubNow().Before(at) {
		w.clocks.retryAwaited, w.clocks.retriedAt = false, w.Clock.Now()
		clear(w.facts)
	}
}

// runFor runs the world for a time, with one heartbeat of the hub per second.
func (w *World) runFor(during time.Duration) error {
	for range during / time.Second {
		w.Hub.connection.Beat()
		if err := w.Settle(time.Second); err != nil {
			return err
		}
	}
	return nil
}

// stall advances the time while the hub's process does not run.
func (w *World) stall(during time.Duration) { w.Clock.Step(during) }
