package relay

import (
	"sync"

	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
)

// subscriber is a hub or an agent, with its waiting events.
type subscriber struct {
	source string
	// ready has one entry while events wait.
	ready chan struct{}

	mu      sync.Mutex
	waiting []*pbv1.CloudEvent
}

func newSubscriber(source string) *subscriber {
	return &subscriber{source: source, ready: make(chan struct{}, 1)}
}

func (s *subscriber) put(event *pbv1.CloudEvent) {
	s.mu.Lock()
	s.waiting = append(s.waiting, event)
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// take returns the waiting events in the order of their arrival.
func (s *subscriber) take() []*pbv1.CloudEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.waiting
	s.waiting = nil
	return taken
}
