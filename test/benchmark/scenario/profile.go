package scenario

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
)

// profile takes profiles of a fleet at rest whose agents report, and of an update of all clusters.
func (w *world) profile(ctx context.Context) error {
	if err := w.take(ctx, "quiet", 5*time.Second, func(ctx context.Context, until time.Time) error {
		for i := 0; time.Now().Before(until); i++ {
			if err := w.fleet.Touch(ctx, fleet.Cluster(i%w.n), name(0)); err != nil {
				return err
			}
			if err := wait(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	// As long as a hundred writes a second take, and then some.
	return w.take(ctx, "update-all", max(3*time.Second, time.Duration(w.n)*12*time.Millisecond), func(ctx context.Context, _ time.Time) error {
		w.version++
		phase := w.fleet.Begin()
		if err := w.objects.edit(ctx, name(0), w.version, all()); err != nil {
			return err
		}
		return phase.Wait(ctx, w.n)
	})
}

// take takes a CPU profile and one of allocations while something is done. A second round has the heap.
func (w *world) take(ctx context.Context, what string, during time.Duration, do func(ctx context.Context, until time.Time) error) error {
	file := func(kind string) string {
		return filepath.Join(w.options.Profiles, fmt.Sprintf("%s-%s-%d.%s.pprof", w.controller, what, w.n, kind))
	}
	seconds := int(during.Seconds())
	for _, kind := range []string{"profile", "allocs"} {
		if err := w.rest(ctx); err != nil {
			return err
		}
		both, inner := errgroup.WithContext(ctx)
		both.Go(func() error {
			return w.manager.Profile(inner, fmt.Sprintf("%s?seconds=%d", kind, seconds), file(kind))
		})
		both.Go(func() error { return do(inner, time.Now().Add(during)) })
		if err := both.Wait(); err != nil {
			return fmt.Errorf("profiling: %w", err)
		}
	}
	return w.manager.Profile(ctx, "heap?gc=1", file("heap"))
}
