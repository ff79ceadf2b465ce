package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/measure"
)

// Plane is a hub without a work manager: only etcd and an API server.
type Plane struct {
	env    *controlplane.Env
	server *controlplane.ControlPlane
	own    *measure.Counter
	pages  *http.Client
}

// StartPlane starts an empty hub. Its API server has all default limits; the benchmark's own client has no limits.
func StartPlane(ctx context.Context, out io.Writer) (*Plane, error) {
	env, err := controlplane.NewEnv(ctx, out)
	if err != nil {
		return nil, err
	}
	plane := &Plane{env: env, own: measure.NewCounter()}
	if err := plane.start(ctx); err != nil {
		return nil, errors.Join(err, env.Stop(context.WithoutCancel(ctx)))
	}
	return plane, nil
}

func (p *Plane) start(ctx context.Context) error {
	var err error
	if p.server, err = p.env.StartHub(ctx, controlplane.HubOptions{}); err != nil {
		return err
	}
	if p.pages, err = rest.HTTPClientFor(p.server.RESTConfig()); err != nil {
		return err
	}
	fleet, err := sandbox.NewFleet(p.Config())
	if err != nil {
		return err
	}
	return fleet.Namespace(ctx, sandbox.HubNamespace)
}

// Config returns a client configuration of the benchmark. Its requests do not count as requests of the manager.
func (p *Plane) Config() *rest.Config {
	config := rest.CopyConfig(p.server.RESTConfig())
	config.Wrap(p.own.Wrap)
	return config
}

// Requests returns the requests of all clients except the benchmark that the API server has served so far.
func (p *Plane) Requests(ctx context.Context) (measure.Requests, error) {
	// The benchmark's own requests are read first. Otherwise, requests between the two reads would be subtracted although they are not in the
	// total.
	own := p.own.Requests()
	served, err := measure.ServedRequests(ctx, p.pages, p.server.Host())
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of the API server: %w", err)
	}
	return served.Minus(own), nil
}

// PeakMemory returns the API server's peak memory so far, in bytes.
func (p *Plane) PeakMemory() (int64, error) { return measure.PeakMemory(p.server.Process().PID()) }

// EtcdSize returns the size of etcd's database in bytes.
func (p *Plane) EtcdSize() (int64, error) {
	file, err := os.Stat(filepath.Join(p.env.Group.Path("etcd"), "member", "snap", "db"))
	if err != nil {
		return 0, err
	}
	return file.Size(), nil
}

// Stop ends everything.
func (p *Plane) Stop(ctx context.Context) error { return p.env.Stop(ctx) }
