// Package floor measures what no controller can beat: a plain loop that writes the same works, with the same fleet answering.
package floor

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/test/benchmark/fleet"
)

// Loop writes works with a number of workers.
type Loop struct {
	client  workclient.Interface
	fleet   *fleet.Fleet
	name    string
	workers int
}

// NewLoop makes a loop over the works of this name.
func NewLoop(config *rest.Config, f *fleet.Fleet, name string, workers int) (*Loop, error) {
	client, err := workclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Loop{client: client, fleet: f, name: name, workers: workers}, nil
}

// All writes a template to the works of n clusters, and returns when the fleet has answered.
func (l *Loop) All(ctx context.Context, n int, template *workv1.ManifestWorkSpec) (fleet.Seen, error) {
	phase := l.fleet.Begin()
	if err := l.write(ctx, 0, n, template); err != nil {
		return fleet.Seen{}, err
	}
	err := phase.Wait(ctx, n)
	return phase.Seen(), err
}

// Waves writes a template to the works of n clusters, so many at a time, and each wave when the one before was answered. After an
// answer it waits for settle, as a controller does that does not believe a success at once.
func (l *Loop) Waves(ctx context.Context, n, size int, settle time.Duration, template *workv1.ManifestWorkSpec) (fleet.Seen, error) {
	phase := l.fleet.Begin()
	for first := 0; first < n; first += size {
		last := min(n, first+size)
		if err := l.write(ctx, first, last, template); err != nil {
			return fleet.Seen{}, err
		}
		if err := phase.Wait(ctx, last); err != nil {
			return fleet.Seen{}, err
		}
		select {
		case <-ctx.Done():
			return fleet.Seen{}, context.Cause(ctx)
		case <-time.After(settle):
		}
	}
	return phase.Seen(), nil
}

func (l *Loop) write(ctx context.Context, first, last int, template *workv1.ManifestWorkSpec) error {
	data, err := json.Marshal(map[string]any{"spec": template})
	if err != nil {
		return err
	}
	writing, ctx := errgroup.WithContext(ctx)
	writing.SetLimit(l.workers)
	for i := first; i < last; i++ {
		writing.Go(func() error {
			cluster := fleet.Cluster(i)
			_, err := l.client.WorkV1().ManifestWorks(cluster).Patch(ctx, l.name, types.MergePatchType, data, metav1.PatchOptions{})
			if err != nil {
				return fmt.Errorf("writing the work of %s: %w", cluster, err)
			}
			return nil
		})
	}
	return writing.Wait()
}
