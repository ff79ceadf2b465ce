package cloudevents

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

const (
	// rushClusters is the number of clusters that must report within a second to count as a rush, for example after an
	// outage.
	rushClusters = 200
	// rushPause is the time after such a second for which the broker may still hold reports from it.
	rushPause = 5 * time.Second
	// rushMost is the maximum time for which a rush excuses an agent that does not answer. Even a fleet that always
	// reports at that rate delays an abort by no more than this time.
	rushMost = time.Minute
)

// rush detects that many agents report at once. During a rush, an answer waits behind other reports in the agents and
// in the broker, where the hub can't see it. A missing answer therefore does not mean that the agent is offline. rush
// counts clusters, not events, so that a single agent can't cause a rush.
type rush struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// second is the start of the second that is counted, and clusters holds the clusters that reported in it.
	second   time.Time
	clusters map[string]bool
	// since is the time at which the rush began, and last is the time at which it was last detected; zero for never.
	since, last time.Time
}

func newRush(clk clock.PassiveClock) *rush { return &rush{clock: clk, clusters: map[string]bool{}} }

// note records that the agent of a cluster sent an event.
func (r *rush) note(cluster string) {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.second) >= time.Second {
		r.second = now
		clear(r.clusters)
	}
	r.clusters[cluster] = true
	if len(r.clusters) < rushClusters {
		return
	}
	if now.Sub(r.last) >= rushPause {
		r.since = now
	}
	r.last = now
}

// excuses reports whether a rush may be the reason that an agent does not answer.
func (r *rush) excuses() bool {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Sub(r.last) < rushPause && now.Sub(r.since) < rushMost
}

// answerPatience is the time that an agent may take to answer before it counts as offline. Connected agents answer
// almost immediately. An abort that must first ask an offline agent is delayed by this time.
const answerPatience = 3 * time.Second

// questions is the number of times an agent is asked in that time, because a question or an answer may be lost.
const questions = 3

// expectReport returns a function that reports whether the agent has reported the work since this call. The caller must call forget.
func (d *Driver) expectReport(cluster string, uid types.UID) (heard func() bool, forget func()) {
	s := d.store
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.record(cluster, uid)
	r.readers++
	before := r.reports
	return func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return r.reports > before
		}, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			r.readers--
			s.release(r)
		}
}

// awaitReport asks an agent, and waits for as long as a connected agent may take to answer. A broker can lose a report.
// An agent that answers a question while it sends another report may send the older report last. In both cases, the hub
// holds an outdated status until the agent is asked again. awaitReport fails if an agent does not answer while many
// agents report at once, or after the broker was away or stalled, because the agent may still answer.
func (d *Driver) awaitReport(ctx context.Context, cluster string, heard func() bool) error {
	began := d.clock.Now()
	for range questions {
		if err := d.link.ask(ctx, cluster); err != nil {
			return err
		}
		if d.await(ctx, answerPatience/questions, heard) {
			return nil
		}
	}
	switch {
	case heard():
		return nil
	case d.link.isUpOnlySince(began):
		return apierrors.NewServiceUnavailable(fmt.Sprintf(
			"the broker did not accept events for some time, and the agent of cluster %s has not answered within %s; the agent will be asked again",
			cluster, answerPatience))
	case d.rush.excuses():
		return apierrors.NewServiceUnavailable(fmt.Sprintf(
			"many agents report at once, and the agent of cluster %s has not answered within %s; the agent will be asked again",
			cluster, answerPatience))
	}
	return nil
}

// readOutPatience is the time that the caller waits for reports to be read before it must try again.
const readOutPatience = 5 * time.Second

// readOut waits until the hub has read every event that has arrived from a cluster, and has processed the report of a work. An agent is not
// silent while the hub has unread events from it.
func (d *Driver) readOut(ctx context.Context, cluster string, uid types.UID) error {
	isRead := d.store.mark(cluster)
	read := d.await(ctx, readOutPatience, func() bool {
		if !isRead() {
			return false
		}
		d.store.mu.Lock()
		defer d.store.mu.Unlock()
		r := d.store.reports[uid]
		return r == nil || !r.kept.unexpected.IsZero()
	})
	if !read {
		return fmt.Errorf("not within %s", readOutPatience)
	}
	return nil
}

// await waits until done returns true, for at most patience. It reports whether done returned true.
type await func(ctx context.Context, patience time.Duration, done func() bool) bool

// pollInterval is the time between two calls of done.
const pollInterval = 10 * time.Millisecond

// poll implements await for a running hub.
func poll(ctx context.Context, patience time.Duration, done func() bool) bool {
	return wait.PollUntilContextTimeout(ctx, pollInterval, patience, true, func(context.Context) (bool, error) { return done(), nil }) == nil
}
