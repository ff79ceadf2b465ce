package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/measure"
)

// Manager is a running work manager.
type Manager struct {
	child *process.Process
	url   string
	pages *http.Client
}

// StartManager starts a work manager as a ServiceAccount, as on a real hub, and returns once it responds.
func (p *Plane) StartManager(ctx context.Context, binary string, args ...string) (*Manager, error) {
	account, err := p.account(ctx, "manager")
	if err != nil {
		return nil, err
	}
	kubeconfig := p.env.Group.Path("manager.kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, "hub", account); err != nil {
		return nil, err
	}
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	m := &Manager{url: "https://" + address}
	if m.pages, err = pagesOf(p.server.RESTConfig()); err != nil {
		return nil, err
	}
	flags := []string{
		"manager",
		"--kubeconfig=" + kubeconfig,
		"--namespace=" + sandbox.HubNamespace,
		"--feature-gates=ManifestWorkReplicaSet=true",
		"--disable-leader-election",
		"--listen=" + address,
	}
	if m.child, err = p.env.Group.Start(process.Command{Name: "manager", Path: binary, Args: append(flags, args...)}); err != nil {
		return nil, err
	}
	ready := func(ctx context.Context) error {
		_, err := measure.Get(ctx, m.pages, m.url+"/healthz")
		return err
	}
	if err := m.child.WaitReady(ctx, time.Minute, ready); err != nil {
		return nil, errors.Join(err, m.child.Kill())
	}
	return m, nil
}

// pagesOf returns a client for the pages of a manager. The manager authenticates the API server's users, and creates its own certificate.
func pagesOf(config *rest.Config) (*http.Client, error) {
	config = rest.CopyConfig(config)
	config.Insecure, config.CAData = true, nil
	return rest.HTTPClientFor(config)
}

// CPU returns the CPU time that the manager has used so far.
func (m *Manager) CPU() (time.Duration, error) { return measure.CPU(m.child.PID()) }

// PeakMemory returns the manager's peak memory so far, in bytes.
func (m *Manager) PeakMemory() (int64, error) { return measure.PeakMemory(m.child.PID()) }

// LiveHeap runs a garbage collection in the manager, and returns the size of the remaining heap in bytes.
func (m *Manager) LiveHeap(ctx context.Context) (float64, error) {
	if _, err := measure.Get(ctx, m.pages, m.url+"/debug/pprof/heap?gc=1"); err != nil {
		return 0, err
	}
	values, err := m.values(ctx, "go_memstats_alloc_bytes")
	return values["go_memstats_alloc_bytes"], err
}

func (m *Manager) values(ctx context.Context, names ...string) (map[string]float64, error) {
	metrics, err := measure.Scrape(ctx, m.pages, m.url+"/metrics", names...)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of the manager: %w", err)
	}
	values := map[string]float64{}
	for _, metric := range metrics {
		values[metric.Name] += metric.Value
	}
	for _, name := range names {
		if _, ok := values[name]; !ok {
			return nil, fmt.Errorf("the manager's /metrics has no %s", name)
		}
	}
	return values, nil
}

// Stop ends the manager.
func (m *Manager) Stop(ctx context.Context) error { return m.child.Stop(ctx) }

// Exited reports whether the manager ended by itself, and returns the reason.
func (m *Manager) Exited() (bool, error) { return m.child.Exited() }

// LogTail returns the end of the manager's log.
func (m *Manager) LogTail(lines int) string { return m.child.LogTail(lines) }
