package scenario

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// bystanderInterval is how often a bystander asks.
const bystanderInterval = 50 * time.Millisecond

// bystander is anyone else who wants something of the API server meanwhile: it reads one small object again and again.
type bystander struct {
	stop context.CancelFunc
	took chan []time.Duration
}

func startBystander(ctx context.Context, config *rest.Config) (*bystander, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	b := &bystander{stop: stop, took: make(chan []time.Duration, 1)}
	go func() {
		var took []time.Duration
		ticker := time.NewTicker(bystanderInterval)
		defer ticker.Stop()
		for ctx.Err() == nil {
			began := time.Now()
			if _, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{}); err == nil {
				took = append(took, time.Since(began))
			}
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
		b.took <- took
	}()
	return b, nil
}

// slowest ends it, and says how long all but one of a hundred of its requests took at the most.
func (b *bystander) slowest() time.Duration {
	b.stop()
	took := <-b.took
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[(len(took)-1)*99/100]
}
