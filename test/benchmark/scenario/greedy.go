package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/report"
)

const (
	// greedyPause is the time after which the greedy tenant changes its templates again: long before the previous change has reached all
	// clusters.
	greedyPause = 2 * time.Second
)

// greedy is a tenant that uses as much capacity as it can: each of its ManifestWorkReplicaSets has the maximum number of placementRefs,
// each of which selects every cluster, and the templates change constantly.
type greedy struct {
	world   *world
	version int
	// namespace is the tenant's namespace. refs is the number of placementRefs of each of its objects, and clusters is the number of clusters
	// that each placementRef selects.
	namespace      string
	refs, clusters int
	prune          workv1alpha1.PruneStrategy
	// template returns the template of a version of one of its objects.
	template func(object, version int) workv1.ManifestWorkSpec
}

// newGreedy returns a tenant whose works use the hub's whole write capacity.
func newGreedy(w *world) *greedy {
	return &greedy{
		world: w, namespace: "greedy", refs: workv1alpha1.MaxPlacementRefs, clusters: w.n,
		template: func(_, version int) workv1.ManifestWorkSpec { return fleet.Template(version) },
	}
}

// newWorst returns a tenant whose templates use the hub's whole CPU capacity. They select only one cluster, because the computation is
// expensive, not the writes.
func newWorst(w *world) *greedy {
	return &greedy{
		world: w, namespace: "worst", refs: 1, clusters: 1, prune: workv1alpha1.PruneWhenAvailable,
		template: func(object, version int) workv1.ManifestWorkSpec { return fleet.Worst(version, object%2 == 1) },
	}
}

// tenants measures an abort alone, and then beside each of the greedy tenants. The tenant with the larger templates comes first, because
// the works of the other tenant would stay.
func (w *world) tenants(ctx context.Context) error {
	w.version, w.stable = 1, 1
	if err := w.objects.create(ctx, name(0), w.version, all()); err != nil {
		return err
	}
	if err := w.until(ctx, func() error {
		_, err := w.objects.since(name(0), complete(w.n))
		return err
	}); err != nil {
		return err
	}
	for range w.options.Repeat {
		if err := w.abortAs(ctx, report.Alone, nil); err != nil {
			return err
		}
	}
	for _, beside := range []struct {
		scenario string
		tenant   *greedy
	}{{report.BesideWorst, newWorst(w)}, {report.Beside, newGreedy(w)}} {
		if err := beside.tenant.move(ctx); err != nil {
			return fmt.Errorf("the tenant %s moves in: %w", beside.tenant.namespace, err)
		}
		for range w.options.Repeat {
			if err := w.abortAs(ctx, beside.scenario, beside.tenant); err != nil {
				return err
			}
		}
	}
	return nil
}

func greedyName(i int) string { return fmt.Sprintf("greedy-%03d", i) }

// move creates all objects of the tenant, and waits until every cluster has them.
func (g *greedy) move(ctx context.Context) error {
	w := g.world
	config := w.plane.Config()
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	clusters, err := clusterclient.NewForConfig(config)
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.namespace}}
	if _, err := kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	var refs []workv1alpha1.LocalPlacementReference
	for i := range g.refs {
		ref := workv1alpha1.LocalPlacementReference{Name: fmt.Sprintf("all-%02d", i), RolloutStrategy: all()}
		if err := fleet.Place(ctx, clusters, g.namespace, ref.Name, g.clusters); err != nil {
			return err
		}
		refs = append(refs, ref)
	}
	phase := w.fleet.Begin()
	g.version++
	for i := range w.options.Greedy {
		object := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: greedyName(i), Namespace: g.namespace}}
		object.Spec.ManifestWorkTemplate, object.Spec.PlacementRefs, object.Spec.PruneStrategy = g.template(i, g.version), refs, g.prune
		if _, err := w.objects.client.WorkV1alpha1().ManifestWorkReplicaSets(g.namespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	works := g.clusters * w.options.Greedy
	return w.answered(ctx, phase, works)
}

// joins makes the tenant work from the trigger of a step until its end.
func (g *greedy) joins(s *step) {
	trigger := s.trigger
	result := make(chan error, 1)
	stop := context.CancelFunc(func() {})
	s.trigger = func(ctx context.Context) error {
		working, cancel := context.WithCancel(ctx)
		stop = cancel
		go func() { result <- g.work(working) }()
		return trigger(ctx)
	}
	s.ended = func() error {
		stop()
		return <-result
	}
}

// work changes the templates repeatedly until the context ends.
func (g *greedy) work(ctx context.Context) error {
	for {
		g.version++
		for i := range g.world.options.Greedy {
			if err := g.world.objects.change(ctx, g.namespace, greedyName(i), map[string]any{"manifestWorkTemplate": g.template(i, g.version)}); err != nil {
				return ignoreEnd(ctx, err)
			}
		}
		if err := wait(ctx, greedyPause); err != nil {
			return ignoreEnd(ctx, err)
		}
	}
}

// ignoreEnd returns an error, or nil if the context has ended.
func ignoreEnd(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return err
}
