package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/floor"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/hub"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/report"
)

// fewWriters and manyWriters are how many workers the loops have.
const fewWriters, manyWriters = 16, 64

// withoutManager does something while no controller runs. It has to leave the works as the controller wants them.
func (w *world) withoutManager(ctx context.Context, do func() error) error {
	if err := w.manager.Stop(ctx); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	if err := w.startManager(ctx); err != nil {
		return err
	}
	return w.rest(ctx)
}

func (w *world) floorOfAll(ctx context.Context) error { return w.thereAndBack(ctx, report.All) }

// floorOfAbort is measured beside the aborts: an API server gets slower while it keeps more and more versions.
func (w *world) floorOfAbort(ctx context.Context) error { return w.thereAndBack(ctx, report.Abort) }

// thereAndBack writes all works by a loop with few workers, and writes them back by one with many. It is measured with ours only: it is the
// same for both.
func (w *world) thereAndBack(ctx context.Context, scenario string) error {
	if w.controller != hub.Ours {
		return nil
	}
	return w.withoutManager(ctx, func() error {
		w.version++
		if err := w.floor(ctx, scenario, fewWriters, w.version); err != nil {
			return err
		}
		return w.floor(ctx, scenario, manyWriters, w.stable)
	})
}

// floorOfProgressive writes the works in waves, and then all of them back.
func (w *world) floorOfProgressive(ctx context.Context) error {
	if w.controller != hub.Ours {
		return nil
	}
	return w.withoutManager(ctx, func() error {
		w.version++
		if err := w.floor(ctx, report.Progressive, fewWriters, w.version); err != nil {
			return err
		}
		return w.floor(ctx, report.All, manyWriters, w.stable)
	})
}

func (w *world) floor(ctx context.Context, scenario string, workers, version int) error {
	config, err := w.plane.ConfigAs(ctx, "floor")
	if err != nil {
		return err
	}
	loop, err := floor.NewLoop(config, w.fleet, name(0), workers)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.options.Patience, fmt.Errorf("not within %s", w.options.Patience))
	defer cancel()
	template := fleet.Template(version)
	began := time.Now()
	var seen fleet.Seen
	if scenario == report.Progressive {
		seen, err = loop.Waves(ctx, w.n, share(10, w.n), w.options.Settle, &template)
	} else {
		seen, err = loop.All(ctx, w.n, &template)
	}
	if err != nil {
		return fmt.Errorf("the floor of %s: %w", scenario, err)
	}
	w.tell(report.Figures{
		Scenario: scenario, Controller: report.Floor, Clusters: w.n, Sets: 1, Workers: workers, Works: w.n, Writes: seen.Writes,
		FirstWrite: seen.First.Sub(began).Seconds(), LastWrite: seen.Last.Sub(began).Seconds(), Complete: time.Since(began).Seconds(),
	})
	return nil
}
