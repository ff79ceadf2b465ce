package scenario

import (
	"context"
	"errors"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/hub"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/report"
)

// deadline is the progressDeadline of the rollout that is aborted. It is longer than a report takes on a busy machine.
const deadline = 15 * time.Second

// rollouts plays all scenarios of one ManifestWorkReplicaSet.
func (w *world) rollouts(ctx context.Context) error {
	if w.broker != nil {
		return w.overBroker(ctx)
	}
	story := []func(context.Context) error{w.first, w.memory, w.quiet}
	for range w.options.Repeat {
		story = append(story, w.updateAll)
	}
	story = append(story, w.updateProgressive, w.goBack)
	for range w.options.Repeat {
		story = append(story, w.abort)
	}
	return w.tellStory(ctx, story)
}

func (w *world) tellStory(ctx context.Context, story []func(context.Context) error) error {
	for _, scenario := range story {
		if err := scenario(ctx); err != nil {
			return err
		}
	}
	return nil
}

// first measures the first rollout.
func (w *world) first(ctx context.Context) error {
	w.version, w.stable = 1, 1
	return w.play(ctx, step{
		scenario: report.First, works: w.n, over: complete(w.n),
		trigger: func(ctx context.Context) error { return w.objects.create(ctx, name(0), w.version, all()) },
	})
}

// memory adds the size of the cache of an idle fleet to the figures of the first rollout.
func (w *world) memory(ctx context.Context) error {
	heap, err := w.manager.LiveHeap(ctx)
	w.figures[len(w.figures)-1].LiveHeap = heap - w.emptyHeap
	return err
}

// quiet makes agents repeat their reports, one after the other.
func (w *world) quiet(ctx context.Context) error { return w.quietAs(ctx, report.Quiet) }

func (w *world) quietAs(ctx context.Context, scenario string) error {
	idle, err := w.idle(ctx)
	if err != nil {
		return err
	}
	before, err := w.before(ctx)
	if err != nil {
		return err
	}
	began, events := time.Now(), 0
	for events < w.options.Events && (events < 3 || time.Since(began) < w.options.EventTime) {
		if err := w.fleet.Touch(ctx, fleet.Cluster(events%w.n), name(0)); err != nil {
			return err
		}
		if err := w.rest(ctx); err != nil {
			return err
		}
		events++
	}
	elapsed := time.Since(began)
	after, err := w.after(ctx)
	if err != nil {
		return err
	}
	f := w.used(scenario, before, after)
	f.Events = events
	f.CPU = max(0, f.CPU-idle.Seconds()*elapsed.Seconds()) / float64(events)
	w.tell(f)
	return nil
}

// updateAll gives every cluster a new version at once.
func (w *world) updateAll(ctx context.Context) error { return w.update(ctx, report.All, all()) }

// updateProgressive gives a new version to a tenth of the clusters at a time.
func (w *world) updateProgressive(ctx context.Context) error {
	return w.update(ctx, report.Progressive, percent(10))
}

func (w *world) update(ctx context.Context, scenario string, strategy workv1alpha1.RolloutStrategy) error {
	w.version++
	w.stable = w.version
	return errors.Join(w.play(ctx, step{
		scenario: scenario, works: w.n, over: complete(w.n),
		trigger: func(ctx context.Context) error { return w.objects.edit(ctx, name(0), w.stable, strategy) },
	}), w.verify(ctx, 0, w.stable))
}

// goBack rolls out a version that no cluster succeeds with, until half of the clusters have it. Then a user restores the previous version.
func (w *world) goBack(ctx context.Context) error {
	half := share(50, w.n)
	w.version++
	w.fleet.Report(func(string) fleet.Outcome { return fleet.Hangs })
	phase := w.fleet.Begin()
	if err := w.objects.edit(ctx, name(0), w.version, percent(50)); err != nil {
		return err
	}
	if err := w.answered(ctx, phase, half); err != nil {
		return err
	}
	w.fleet.Report(func(string) fleet.Outcome { return fleet.Succeeds })
	return errors.Join(w.play(ctx, step{
		scenario: report.Back, works: half, over: complete(w.n),
		trigger: func(ctx context.Context) error { return w.objects.edit(ctx, name(0), w.stable, all()) },
	}), w.verify(ctx, 0, w.stable))
}

// abort measures an abort of an update that every cluster has. Upstream's controller has no abort.
func (w *world) abort(ctx context.Context) error {
	if w.controller != hub.Ours {
		return nil
	}
	return w.abortAs(ctx, report.Abort, nil)
}

// abortAs rolls out a version with which one cluster never succeeds, which is tolerated. Before that cluster's deadline, a second cluster
// reports that it is degraded. At the deadline of the second cluster, its failure exceeds the limit. A greedy tenant works until the end of
// the abort; nil for none.
func (w *world) abortAs(ctx context.Context, scenario string, beside *greedy) error {
	w.version++
	w.fleet.Report(func(cluster string) fleet.Outcome {
		if cluster == fleet.Cluster(0) {
			return fleet.Hangs
		}
		return fleet.Succeeds
	})
	phase := w.fleet.BeginOf(name(0))
	if err := w.objects.edit(ctx, name(0), w.version, allOrAbort(deadline)); err != nil {
		return err
	}
	if err := w.answered(ctx, phase, w.n); err != nil {
		return err
	}
	w.fleet.Report(func(string) fleet.Outcome { return fleet.Succeeds })
	breach := step{
		scenario: scenario, works: w.n, over: aborted, due: deadline, only: name(0),
		trigger: func(ctx context.Context) error {
			return w.fleet.Degrade(ctx, fleet.Cluster(w.n-1), name(0), time.Now())
		},
	}
	if beside != nil {
		beside.joins(&breach)
	}
	return errors.Join(w.play(ctx, breach), w.verify(ctx, 0, w.stable))
}
