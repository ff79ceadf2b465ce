package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/open-cluster-management-io/work-rollback/test/benchmark/hub"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/report"
)

// Options select the measurements.
type Options struct {
	// Clusters are the sizes of the fleets.
	Clusters []int
	// Sets is the number of ManifestWorkReplicaSets in the scenario with many of them, and PerSet is the number of clusters of each. 0 omits
	// the scenario.
	Sets, PerSet int
	// Greedy is the number of ManifestWorkReplicaSets of the greedy tenant beside which an abort is measured; 0 omits the scenario.
	Greedy int
	// Driver is the driver of the works: empty for the API server, mqtt or grpc for a broker.
	Driver string
	// Mosquitto is the path of the mosquitto to use as the broker; empty for the benchmark's own broker.
	Mosquitto string
	// Controllers are measured in this order.
	Controllers []hub.Controller
	// Binaries are the binaries of the controllers.
	Binaries hub.Binaries
	// Settle is --success-settle of this project's hub.
	Settle time.Duration
	// Delay is the time after which an agent reports.
	Delay time.Duration
	// Repeat is the number of times that an update and an abort of all clusters are measured.
	Repeat int
	// Events is the maximum number of measured status events, and EventTime is the maximum time. At least three events are measured.
	Events    int
	EventTime time.Duration
	// Rest is the time for which a manager must have done almost nothing to count as idle. It is longer than any pause of a controller during
	// its work. Idle is the time for which an idle manager is measured.
	Rest, Idle time.Duration
	// Patience is the time that a scenario may take.
	Patience time.Duration
	// Out receives each figure when it is available.
	Out io.Writer
}

func (o *Options) flags(controller hub.Controller) []string {
	flags := []string{"--kube-api-qps=-1"} // No limit.
	if o.Driver != "" {
		flags = append(flags, "--work-driver="+o.Driver, "--cloudevents-client-id=mwrsctrl-bench")
	}
	if controller == hub.Ours {
		flags = append(flags, "--success-settle="+o.Settle.String())
	}
	return flags
}

// Run measures everything, one scenario after the other. On an error, it also returns the figures that were measured before.
func Run(ctx context.Context, options Options) ([]report.Figures, error) {
	type part struct {
		clusters    []int
		controllers []hub.Controller
		play        func(*world) error
	}
	var ours []hub.Controller
	if slices.Contains(options.Controllers, hub.Ours) {
		ours = []hub.Controller{hub.Ours} // Upstream's controller has no abort.
	}
	parts := []part{{options.Clusters, options.Controllers, func(w *world) error { return w.rollouts(ctx) }}}
	if options.Greedy > 0 {
		parts = append(parts, part{options.Clusters, ours, func(w *world) error { return w.tenants(ctx) }})
	}
	if options.Sets > 0 {
		parts = append(parts, part{[]int{options.PerSet}, options.Controllers, func(w *world) error { return w.many(ctx) }})
	}
	var figures []report.Figures
	for _, p := range parts {
		for _, n := range p.clusters {
			for _, controller := range p.controllers {
				measured, err := inWorld(ctx, options, controller, n, p.play)
				figures = append(figures, measured...)
				if err != nil {
					return figures, err
				}
			}
		}
	}
	return figures, nil
}

func inWorld(ctx context.Context, options Options, controller hub.Controller, n int, do func(*world) error) ([]report.Figures, error) {
	w, err := newWorld(ctx, options, controller, n)
	if err != nil {
		return nil, fmt.Errorf("%s with %d clusters: %w", controller, n, err)
	}
	if err = do(w); err != nil {
		err = fmt.Errorf("%s with %d clusters: %w; the end of its log:\n%s", controller, n, err, w.manager.LogTail(10))
	}
	return w.figures, errors.Join(err, w.end(ctx))
}

// many measures a status event of one ManifestWorkReplicaSet, alone and among many.
func (w *world) many(ctx context.Context) error {
	create := func(first, last int) func(context.Context) error {
		return func(ctx context.Context) error {
			for set := first; set < last; set++ {
				if err := w.objects.create(ctx, name(set), 1, all()); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err := w.play(ctx, step{scenario: report.FirstOfMany, works: w.n, over: complete(w.n), trigger: create(0, 1)}); err != nil {
		return err
	}
	if err := w.quietAs(ctx, report.QuietOfMany); err != nil {
		return err
	}
	w.sets = w.options.Sets
	if err := w.play(ctx, step{scenario: report.FirstOfMany, works: w.n * (w.sets - 1), over: complete(w.n), trigger: create(1, w.sets)}); err != nil {
		return err
	}
	return w.quietAs(ctx, report.QuietOfMany)
}
