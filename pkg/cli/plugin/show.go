package plugin

import (
	"context"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/rest"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// Screen reads and draws a rollout as the get command does, for a program that shows it to its users.
type Screen struct {
	options *options
	clients *clients
	name    string
}

// NewScreen returns the screen of a ManifestWorkReplicaSet.
func NewScreen(config *rest.Config, namespace, name string, changes ...Option) (*Screen, error) {
	o := &options{now: time.Now, age: duration.HumanDuration}
	for _, change := range changes {
		change(o)
	}
	c, err := newClients(config, namespace)
	return &Screen{options: o, clients: c, name: name}, err
}

// Read reads the rollout.
func (s *Screen) Read(ctx context.Context) (*view.Fleet, error) {
	objects, err := s.options.read(ctx, s.clients, s.name)
	if err != nil {
		return nil, err
	}
	return view.FleetOf(objects), nil
}

// Draw writes the screen of a rollout. On a terminal, it uses colors and fits the lines to the width.
func (s *Screen) Draw(to io.Writer, f *view.Fleet) error { return s.options.printFleet(to, f) }
