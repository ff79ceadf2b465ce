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

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/report"
)

const (
	greedyNamespace = "greedy"
	// greedyPause is after what time the greedy tenant changes its templates again: long before the last change has reached all clusters.
	greedyPause = 2 * time.Second
)

// greedy is a tenant that takes all it can get: each of its ManifestWorkReplicaSets has as many placementRefs as count, each of them
// selects every cluster, and their templates change all the time.
type greedy struct {
	world   *world
	version int
}

// tenants measures an abort alone, and then beside a greedy tenant.
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
	g := &greedy{world: w}
	if err := g.move(ctx); err != nil {
		return fmt.Errorf("the greedy tenant moves in: %w", err)
	}
	for range w.options.Repeat {
		if err := w.abortAs(ctx, report.Beside, g); err != nil {
			return err
		}
	}
	return nil
}

func greedyName(i int) string { return fmt.Sprintf("greedy-%03d", i) }

// move makes all that the tenant has, and waits until every cluster has it.
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
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: greedyNamespace}}
	if _, err := kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	var refs []workv1alpha1.LocalPlacementReference
	for i := range workv1alpha1.MaxPlacementRefs {
		ref := workv1alpha1.LocalPlacementReference{Name: fmt.Sprintf("all-%02d", i), RolloutStrategy: all()}
		if err := fleet.Place(ctx, clusters, greedyNamespace, ref.Name, w.n); err != nil {
			return err
		}
		refs = append(refs, ref)
	}
	phase := w.fleet.Begin()
	g.version++
	for i := range w.options.Greedy {
		object := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: greedyName(i), Namespace: greedyNamespace}}
		object.Spec.ManifestWorkTemplate, object.Spec.PlacementRefs = fleet.Template(g.version), refs
		if _, err := w.objects.client.WorkV1alpha1().ManifestWorkReplicaSets(greedyNamespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	works := w.n * w.options.Greedy
	return w.until(ctx, func() error {
		if seen := phase.Seen(); seen.Written < works || seen.Answered < works {
			return fmt.Errorf("%d works of %d are written, %d answered", seen.Written, works, seen.Answered)
		}
		return nil
	})
}

// joins has the tenant at work from when a step is set off until it is over.
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

// work changes the templates again and again, until the context ends.
func (g *greedy) work(ctx context.Context) error {
	for {
		g.version++
		for i := range g.world.options.Greedy {
			if err := g.world.objects.change(ctx, greedyNamespace, greedyName(i), map[string]any{"manifestWorkTemplate": fleet.Template(g.version)}); err != nil {
				return ignoreEnd(ctx, err)
			}
		}
		if err := wait(ctx, greedyPause); err != nil {
			return ignoreEnd(ctx, err)
		}
	}
}

// ignoreEnd is the error of something that ended with its context: none.
func ignoreEnd(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return err
}
