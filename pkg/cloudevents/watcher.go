package cloudevents

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// watcher hands events on, in order, without ever making the sender wait.
type watcher struct {
	result  chan watch.Event
	stopped chan struct{}
	stop    func()

	mu    sync.Mutex
	queue []watch.Event
	more  chan struct{}
}

var _ watch.Interface = &watcher{}

func newWatcher(unwatch func(*watcher)) *watcher {
	w := newCollector()
	w.stop = sync.OnceFunc(func() {
		unwatch(w)
		close(w.stopped)
	})
	go w.run()
	return w
}

// newCollector makes a watcher that only collects events, until they are taken.
func newCollector() *watcher {
	return &watcher{result: make(chan watch.Event), stopped: make(chan struct{}), more: make(chan struct{}, 1)}
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface.
func (w *watcher) Stop() { w.stop() }

func (w *watcher) send(event watch.Event) {
	w.mu.Lock()
	w.queue = append(w.queue, event)
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func (w *watcher) take() []watch.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.queue
	w.queue = nil
	return taken
}

func (w *watcher) run() {
	defer close(w.result)
	for {
		select {
		case <-w.stopped:
			return
		case <-w.more:
		}
		for _, event := range w.take() {
			select {
			case <-w.stopped:
				return
			case w.result <- event:
			}
		}
	}
}
