package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/hub"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/report"
)

// world is a hub with one controller and its fleet.
type world struct {
	options    Options
	controller hub.Controller
	n, sets    int
	plane      *hub.Plane
	fleet      *fleet.Fleet
	objects    *objects
	works      workclient.Interface
	manager    *hub.Manager
	// broker is the broker of the works; nil if they travel through the API server.
	broker *hub.Broker
	stop   context.CancelFunc
	// lasting is the context of everything that ends with the world.
	lasting context.Context //nolint:containedctx // It is the lifetime of agents that come back.

	// version is the newest version that was ever written. stable is the version that every cluster has.
	version, stable int
	// emptyHeap is the size of the manager's heap when there is no work.
	emptyHeap float64

	figures []report.Figures
}

// newWorld starts a hub, n clusters and a controller that has nothing to do.
func newWorld(ctx context.Context, options Options, controller hub.Controller, n int) (*world, error) {
	plane, err := hub.StartPlane(ctx, options.Out)
	if err != nil {
		return nil, err
	}
	w := &world{options: options, controller: controller, n: n, sets: 1, plane: plane}
	// The processes of the world end with the world, not with its start.
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop, w.lasting = stop, inner
	if err := w.start(ctx, inner); err != nil {
		return nil, errors.Join(err, w.end(ctx))
	}
	return w, nil
}

func (w *world) start(ctx, inner context.Context) error {
	config := w.plane.Config()
	err := fleet.Join(ctx, config, w.n)
	if err != nil {
		return err
	}
	if err := w.startFleet(ctx, inner); err != nil {
		return err
	}
	if w.objects, err = watchObjects(inner, config); err != nil {
		return err
	}
	if w.works, err = workclient.NewForConfig(config); err != nil {
		return err
	}
	if err := w.startManager(ctx); err != nil {
		return err
	}
	if err := w.rest(ctx); err != nil {
		return err
	}
	w.emptyHeap, err = w.manager.LiveHeap(ctx)
	return err
}

// startFleet starts the agents, and the broker that they use.
func (w *world) startFleet(ctx, inner context.Context) error {
	var err error
	if w.options.Driver == "" {
		w.fleet, err = fleet.Start(inner, w.plane.Config(), w.options.Delay)
		return err
	}
	if w.broker, err = w.plane.StartBroker(ctx, w.options.Driver, w.options.Binaries[hub.BrokerBinary], w.options.Mosquitto); err != nil {
		return err
	}
	w.fleet, err = fleet.StartAgents(inner, w.broker.Driver, w.broker.Address, w.n, w.options.Delay)
	return err
}

func (w *world) startManager(ctx context.Context) error {
	flags := w.options.flags(w.controller)
	if w.broker != nil {
		flags = append(flags, "--work-driver-config="+w.broker.Config)
	}
	manager, err := w.plane.StartManager(ctx, w.options.Binaries[w.controller], flags...)
	if err != nil {
		return err
	}
	w.manager = manager
	return nil
}

// end stops everything.
func (w *world) end(ctx context.Context) error {
	w.stop()
	return w.plane.Stop(context.WithoutCancel(ctx))
}

// name is the name of a ManifestWorkReplicaSet, and of its works.
func name(set int) string { return fmt.Sprintf("web-%03d", set) }

// until polls until check returns nil. It returns an error if the manager or an agent has failed.
func (w *world) until(ctx context.Context, check func() error) error {
	var fatal error
	ctx, cancel := context.WithTimeoutCause(ctx, w.options.Patience, fmt.Errorf("not within %s", w.options.Patience))
	defer cancel()
	err := fleet.Until(ctx, func() error {
		if ended, err := w.manager.Exited(); ended {
			fatal = err
		} else if err := w.fleet.Err(); err != nil {
			fatal = err
		}
		if fatal != nil {
			return nil
		}
		return check()
	})
	return errors.Join(fatal, err)
}

// answered waits until the given number of works have been written and reported in a phase.
func (w *world) answered(ctx context.Context, phase *fleet.Phase, works int) error {
	return w.until(ctx, func() error {
		if seen := phase.Seen(); seen.Written < works || seen.Answered < works {
			return fmt.Errorf("%d works of %d are written, %d answered", seen.Written, works, seen.Answered)
		}
		return nil
	})
}

// wait waits for a duration.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// verify reads all works, and returns an error that names a work without the wanted version: a fast but wrong result does not count.
func (w *world) verify(ctx context.Context, set, wanted int) error {
	if w.broker != nil {
		return w.verifyAgents(set, wanted)
	}
	found, next := 0, ""
	for {
		list, err := w.works.WorkV1().ManifestWorks("").List(ctx, metav1.ListOptions{
			LabelSelector: workv1alpha1.LabelReplicaSet + "=" + workv1alpha1.OwnerLabelValue(fleet.Namespace, name(set)),
			Limit:         500, Continue: next,
		})
		if err != nil {
			return err
		}
		for i := range list.Items {
			work := &list.Items[i]
			if version := fleet.Version(&work.Spec); version != wanted {
				return fmt.Errorf("the work of %s holds version %d, not %d", work.Namespace, version, wanted)
			}
		}
		found += len(list.Items)
		if next = list.Continue; next == "" {
			break
		}
	}
	if found != w.n {
		return fmt.Errorf("there are %d works of %s, not %d", found, name(set), w.n)
	}
	return nil
}

// tell prints the figures as soon as they are available.
func (w *world) tell(f report.Figures) {
	f.Driver = w.options.Driver
	w.surroundings(&f)
	w.figures = append(w.figures, f)
	printFigures(w.options.Out, f)
}

func printFigures(out io.Writer, f report.Figures) {
	fmt.Fprintf(out, "%-8s N=%-5d sets=%-3d %-34s CPU %9.4fs  first %7.3fs  last %7.2fs  complete %7.2fs  %v\n",
		f.Controller, f.Clusters, f.Sets, f.Scenario, f.CPU, f.FirstWrite, f.LastWrite, f.Complete, f.Requests)
}
