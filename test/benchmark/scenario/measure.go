package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/measure"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/report"
)

// restUse is the maximum CPU use of an idle manager, as a share of one processor.
const restUse = 0.02

// sample is the state of all counters at a time.
type sample struct {
	cpu      time.Duration
	requests measure.Requests
}

// before reads the counters. It reads the CPU time last, so that the cost of reading the other counters is not included.
func (w *world) before(ctx context.Context) (sample, error) {
	var s sample
	var err error
	if s.requests, err = w.plane.Requests(ctx); err != nil {
		return s, err
	}
	if err := w.rest(ctx); err != nil {
		return s, err
	}
	s.cpu, err = w.manager.CPU()
	return s, err
}

// after reads the counters once the manager is idle.
func (w *world) after(ctx context.Context) (sample, error) {
	var s sample
	err := w.rest(ctx)
	if err != nil {
		return s, err
	}
	if s.cpu, err = w.manager.CPU(); err != nil {
		return s, err
	}
	s.requests, err = w.plane.Requests(ctx)
	return s, err
}

// rest waits until the manager is idle.
func (w *world) rest(ctx context.Context) error {
	type reading struct {
		at  time.Time
		cpu time.Duration
	}
	var readings []reading
	return w.until(ctx, func() error {
		now, err := w.manager.CPU()
		if err != nil {
			return err
		}
		readings = append(readings, reading{time.Now(), now})
		for len(readings) > 1 && time.Since(readings[1].at) >= w.options.Rest {
			readings = readings[1:]
		}
		elapsed, used := time.Since(readings[0].at), now-readings[0].cpu
		if elapsed < w.options.Rest || used.Seconds() > restUse*elapsed.Seconds() {
			return fmt.Errorf("the manager used %s in the last %s", used, elapsed)
		}
		return nil
	})
}

// idle returns the CPU time that the manager uses per second while nothing happens.
func (w *world) idle(ctx context.Context) (time.Duration, error) {
	watched := w.options.Idle
	if err := w.rest(ctx); err != nil {
		return 0, err
	}
	before, err := w.manager.CPU()
	if err != nil {
		return 0, err
	}
	if err := wait(ctx, watched); err != nil {
		return 0, err
	}
	after, err := w.manager.CPU()
	return time.Duration(float64(after-before) / watched.Seconds()), err
}

// used returns the figures for the time between two samples.
func (w *world) used(scenario string, before, after sample) report.Figures {
	return report.Figures{
		Scenario: scenario, Controller: string(w.controller), Clusters: w.n, Sets: w.sets,
		CPU:      (after.cpu - before.cpu).Seconds(),
		Requests: after.requests.Minus(before.requests),
	}
}

// surroundings adds the memory use of the API server and the broker. It omits values that this system does not provide.
func (w *world) surroundings(f *report.Figures) {
	if peak, err := w.plane.PeakMemory(); err == nil {
		f.ServerMemory = float64(peak)
	}
	if size, err := w.plane.EtcdSize(); err == nil {
		f.EtcdSize = float64(size)
	}
	if w.broker == nil {
		return
	}
	if peak, err := w.broker.PeakMemory(); err == nil {
		f.BrokerMemory = float64(peak)
	}
}

// step is an event that makes the controller write works.
type step struct {
	scenario string
	// works is the number of works that the controller has to write.
	works int
	// trigger triggers the event.
	trigger func(context.Context) error
	// due is the time after which the controller can act. The measured times begin there.
	due time.Duration
	// over returns nil if the status of a ManifestWorkReplicaSet reports the end of the step.
	over func(*workv1alpha1.ManifestWorkReplicaSet) error
	// only is the name of the works that count; empty for all works. ended is called after the end of the step; nil for no call.
	only  string
	ended func() error
}

// play measures a step, and waits until the controller is idle.
func (w *world) play(ctx context.Context, s step) error {
	before, err := w.before(ctx)
	if err != nil {
		return err
	}
	phase := w.fleet.BeginOf(s.only)
	began, messages := time.Now().Add(s.due), w.fleet.Messages()
	if err := s.trigger(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.scenario, err)
	}
	ended, err := w.outcome(ctx, phase, s)
	if s.ended != nil {
		err = errors.Join(err, s.ended())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.scenario, err)
	}
	after, err := w.after(ctx)
	if err != nil {
		return err
	}
	seen := phase.Seen()
	f := w.used(s.scenario, before, after)
	f.Works, f.Writes = s.works, seen.Writes
	f.FirstWrite, f.LastWrite = seen.First.Sub(began).Seconds(), seen.Last.Sub(began).Seconds()
	f.Messages = w.fleet.Messages() - messages
	f.Complete = ended.Sub(began).Seconds()
	peak, err := w.manager.PeakMemory()
	f.PeakMemory = float64(peak)
	w.tell(f)
	return err
}

// outcome waits until a step has ended, and returns the time of its end.
func (w *world) outcome(ctx context.Context, phase *fleet.Phase, s step) (time.Time, error) {
	err := w.answered(ctx, phase, s.works)
	if err != nil {
		return time.Time{}, err
	}
	ended := phase.Seen().LastAnswer
	err = w.until(ctx, func() error {
		for set := range w.sets {
			since, err := w.objects.since(name(set), s.over)
			if err != nil {
				return err
			}
			if since.After(ended) {
				ended = since
			}
		}
		return nil
	})
	return ended, err
}
