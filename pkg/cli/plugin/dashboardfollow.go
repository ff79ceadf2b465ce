package plugin

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
)

// read returns the newest state of some informers.
type read[T any] func() (T, error)

// followed follows objects with informers. When the API server can be reached again, it starts new informers: the old ones would wait until
// their backoff has elapsed. It also starts new ones periodically while a permission is missing: an informer that lacks a permission never
// gets it, and an API server that has just started may reject requests that it allows later. The previous state stays until the new one is
// complete.
type followed[T any] struct {
	changed chan struct{}

	mu   sync.Mutex
	now  read[T]
	last T
	err  error
}

// askAgainAfter is how often informers that lack a permission are started again.
const askAgainAfter = 15 * time.Second

// follows starts to follow objects. start starts informers that run until a context ends and signal each change. lacks reports whether a
// state is missing parts that could not be read.
func follows[T any](
	ctx context.Context, h *dashboardHub, lacks func(T) bool, start func(ctx context.Context, changed chan struct{}) (read[T], error),
) *followed[T] {
	f := &followed[T]{changed: make(chan struct{}, 1), err: dashboard.ErrNotReady}
	go func() {
		for ctx.Err() == nil {
			returned := h.returned()
			running, end := context.WithCancel(ctx)
			now, err := start(running, f.changed)
			f.mu.Lock()
			if f.now = now; err != nil {
				f.now, f.err = nil, err
			}
			f.mu.Unlock()
			f.wait(ctx, returned, lacks)
			end()
		}
	}()
	return f
}

// wait waits until the informers must be started again, or until the context ends.
func (f *followed[T]) wait(ctx context.Context, returned <-chan struct{}, lacks func(T) bool) {
	again := time.NewTicker(askAgainAfter)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-returned:
			return
		case <-again.C:
			f.mu.Lock()
			incomplete := apierrors.IsForbidden(f.err) || f.err == nil && lacks(f.last)
			f.mu.Unlock()
			if incomplete {
				return
			}
		}
	}
}

// Changed implements dashboard.Followed.
func (f *followed[T]) Changed() <-chan struct{} { return f.changed }

// Now implements dashboard.Followed.
func (f *followed[T]) Now() (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now != nil {
		last, err := f.now()
		if !errors.Is(err, dashboard.ErrNotReady) {
			f.last, f.err = last, err
		}
	}
	return f.last, f.err
}
