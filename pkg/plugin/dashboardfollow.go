package plugin

import (
	"context"
	"errors"
	"sync"

	"github.com/open-cluster-management-io/work-rollback/pkg/dashboard"
)

// read returns the newest state of some informers.
type read[T any] func() (T, error)

// followed follows something with informers. When the API server can be reached again, it starts new informers: the old ones would wait
// until their backoff has elapsed. The state before stays until the new one is complete.
type followed[T any] struct {
	changed chan struct{}

	mu   sync.Mutex
	now  read[T]
	last T
	err  error
}

// follows starts to follow something. start starts the informers of a context, and they tell of each change.
func follows[T any](
	ctx context.Context, h *dashboardHub, start func(ctx context.Context, changed chan struct{}) (read[T], error),
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
			select {
			case <-ctx.Done():
			case <-returned:
			}
			end()
		}
	}()
	return f
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
