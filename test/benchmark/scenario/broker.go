package scenario

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/report"
)

// overBroker plays the same rollouts over a broker, and the scenarios that exist only with a broker.
func (w *world) overBroker(ctx context.Context) error {
	story := []func(context.Context) error{w.first, w.memory, w.quiet}
	for range w.options.Repeat {
		story = append(story, w.updateAll)
	}
	story = append(story, w.updateProgressive, w.goBack)
	for range w.options.Repeat {
		story = append(story, w.abort)
	}
	return w.tellStory(ctx, append(story, w.restart, w.restartMidway, w.agentsReturn, w.restartBroker))
}

// verifyAgents returns an error that names the agents without the wanted version.
func (w *world) verifyAgents(set, wanted int) error {
	if found := w.fleet.Versions(name(set)); found[wanted] != w.n || len(found) != 1 {
		return fmt.Errorf("the agents have %v of %s (clusters by version), not version %d on %d clusters", found, name(set), wanted, w.n)
	}
	return nil
}

// agentsReturn updates all clusters, with a deadline and AbortAll, and makes all agents reconnect during the update. This must not cause a
// failure or lose a work.
func (w *world) agentsReturn(ctx context.Context) error {
	return w.disturbed(ctx, report.AgentsReturn, allOrAbort(deadline), func(ctx context.Context) error { return w.fleet.Return(w.lasting) })
}

// restart starts a hub without memory on an idle fleet. A new version waits for the hub.
func (w *world) restart(ctx context.Context) error {
	if err := w.manager.Stop(ctx); err != nil {
		return err
	}
	w.version++
	w.stable = w.version
	if err := w.objects.edit(ctx, name(0), w.stable, all()); err != nil {
		return err
	}
	runtime.GC() // This process simulates the agents: its garbage from earlier scenarios must not affect the hub's times.
	return w.watched(ctx, report.Restart, func(*fleet.Phase) error { return w.startManager(ctx) })
}

// restartMidway restarts the hub after half of the works are written.
func (w *world) restartMidway(ctx context.Context) error {
	return w.disturbed(ctx, report.RestartMidway, all(), func(ctx context.Context) error {
		if err := w.manager.Stop(ctx); err != nil {
			return err
		}
		return w.startManager(ctx)
	})
}

// restartBroker restarts the broker after half of the works are written. The broker loses undelivered events.
func (w *world) restartBroker(ctx context.Context) error {
	return w.disturbed(ctx, report.BrokerRestart, all(), func(ctx context.Context) error {
		if err := w.broker.Stop(ctx); err != nil {
			return err
		}
		return w.broker.Start(ctx)
	})
}

// disturbed updates all clusters, and calls a function when half of them have the new version.
func (w *world) disturbed(ctx context.Context, scenario string, strategy workv1alpha1.RolloutStrategy, disturb func(context.Context) error) error {
	w.version++
	w.stable = w.version
	half := share(50, w.n)
	return w.watched(ctx, scenario, func(phase *fleet.Phase) error {
		if err := w.objects.edit(ctx, name(0), w.stable, strategy); err != nil {
			return err
		}
		if err := w.until(ctx, func() error {
			if seen := phase.Seen(); seen.Written < half {
				return fmt.Errorf("%d works of %d are written", seen.Written, half)
			}
			return nil
		}); err != nil {
			return err
		}
		return disturb(ctx)
	})
}

// watched measures a scenario until every cluster has the newest version, even if the hub's process changes: the CPU time and the memory
// are those of the process that runs at the end. The figures show if a cluster never gets the version, or if the hub aborts without a
// failure.
func (w *world) watched(ctx context.Context, scenario string, trigger func(*fleet.Phase) error) error {
	manager := w.manager
	before, beforeErr := manager.CPU()
	phase, began, messages := w.fleet.Begin(), time.Now(), w.fleet.Messages()
	ended, err := w.arrives(ctx, phase, began, trigger)
	if err == nil {
		err = w.rest(ctx)
	}
	cpu, cpuErr := w.manager.CPU()
	if w.manager == manager && beforeErr == nil {
		cpu -= before
	}
	peak, peakErr := w.manager.PeakMemory()
	seen := phase.Seen()
	f := report.Figures{
		Scenario: scenario, Controller: string(w.controller), Clusters: w.n, Sets: w.sets, Works: w.n, Writes: seen.Writes,
		CPU: cpu.Seconds(), PeakMemory: float64(peak), Messages: w.fleet.Messages() - messages,
		Aborts: w.objects.aborts(name(0), began), Missing: w.n - w.fleet.Versions(name(0))[w.stable],
	}
	if seen.Writes > 0 {
		f.FirstWrite, f.LastWrite = seen.First.Sub(began).Seconds(), seen.Last.Sub(began).Seconds()
	}
	if !ended.IsZero() {
		f.Complete = ended.Sub(began).Seconds()
	}
	w.tell(f)
	if err = errors.Join(err, cpuErr, peakErr); err != nil {
		return fmt.Errorf("%s: %w", scenario, err)
	}
	return nil
}

// arrives waits until every cluster has the newest version and the rollout is complete. It returns the time of the completion.
func (w *world) arrives(ctx context.Context, phase *fleet.Phase, began time.Time, trigger func(*fleet.Phase) error) (time.Time, error) {
	if err := trigger(phase); err != nil {
		return time.Time{}, err
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	unaborted := func() {
		if w.objects.aborts(name(0), began) > 0 {
			giveUp(errors.New("the hub aborted a rollout that had no failure"))
		}
	}
	if err := w.until(ctx, func() error {
		unaborted()
		return w.verifyAgents(0, w.stable)
	}); err != nil {
		return time.Time{}, err
	}
	var ended time.Time
	err := w.until(ctx, func() error {
		unaborted()
		var err error
		ended, err = w.objects.since(name(0), complete(w.n))
		return err
	})
	return ended, err
}
