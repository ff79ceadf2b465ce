package cloudevents

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// watcher delivers events in order, without ever blocking the sender.
type watcher struct {
	*watch.ProxyWatcher
	result chan watch.Event

	mu    sync.Mutex
	queue []watch.Event
	more  chan struct{}
}

func newWatcher(unwatch func(*watcher)) *watcher {
	w := newCollector()
	go w.run(unwatch)
	return w
}

// newCollector returns a watcher that collects events until they are taken.
func newCollector() *watcher {
	result := make(chan watch.Event)
	return &watcher{ProxyWatcher: watch.NewProxyWatcher(result), result: result, more: make(chan struct{}, 1)}
}

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

func (w *watcher) run(unwatch func(*watcher)) {
	defer close(w.result)
	defer unwatch(w)
	for {
		select {
		case <-w.StopChan():
			return
		case <-w.more:
		}
		for _, event := range w.take() {
			select {
			case <-w.StopChan():
				return
			case w.result <- event:
			}
		}
	}
}
