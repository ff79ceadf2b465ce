package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/tools"
)

// Env is a group of child processes with one etcd that all control planes share.
type Env struct {
	// Group runs the child processes. Callers may start their own processes in it.
	Group *process.Group
	// Tools are the binaries.
	Tools tools.Tools
	// Etcd is shared by the control planes.
	Etcd *Etcd
}

// DirPrefix is the prefix of the name of a sandbox's directory.
const DirPrefix = "work-rollback"

// NewEnv builds the tools if they are missing, reports the build to out, and starts etcd.
func NewEnv(ctx context.Context, out io.Writer) (*Env, error) {
	built, err := tools.Ensure(ctx, out, "")
	if err != nil {
		return nil, err
	}
	return NewEnvWith(ctx, built)
}

// NewEnvWith starts etcd from existing tools.
func NewEnvWith(ctx context.Context, built tools.Tools) (*Env, error) {
	group, err := process.NewGroup(DirPrefix)
	if err != nil {
		return nil, err
	}
	env := &Env{Group: group, Tools: built}
	if env.Etcd, err = StartEtcd(ctx, group, built.Etcd); err != nil {
		return nil, errors.Join(err, group.Stop(ctx))
	}
	return env, nil
}

// Stop ends every child and removes their files.
func (e *Env) Stop(ctx context.Context) error { return e.Group.Stop(ctx) }

// Options are the options of a control plane.
type Options struct {
	// Name must be unique in its Env.
	Name string
	// CRDs are installed before Start returns.
	CRDs [][]byte
	// Controllers of kube-controller-manager to run; if empty, kube-controller-manager does not run.
	Controllers []string
	// APIServerArgs are added to the flags of kube-apiserver.
	APIServerArgs []string
}

// ControlPlane is an API server and its controllers.
type ControlPlane struct {
	*APIServer

	// ControllerManager is nil if no controllers were requested.
	ControllerManager *process.Process
}

// Start starts a control plane and returns once it serves its CRDs.
func (e *Env) Start(ctx context.Context, options Options) (*ControlPlane, error) {
	server, err := StartAPIServer(ctx, e.Group, e.Tools.KubeAPIServer, e.Etcd, APIServerOptions{Name: options.Name, Args: options.APIServerArgs})
	if err != nil {
		return nil, err
	}
	plane := &ControlPlane{APIServer: server}
	if len(options.Controllers) > 0 {
		plane.ControllerManager, err = StartControllerManager(e.Group, e.Tools.KubeControllers, server, options.Controllers...)
		if err != nil {
			return nil, err
		}
	}
	if err := InstallCRDs(ctx, server.RESTConfig(), options.CRDs...); err != nil {
		return nil, fmt.Errorf("%s: %w", options.Name, err)
	}
	return plane, nil
}

// HubOptions are the options of a hub.
type HubOptions struct {
	// Name is "hub" if empty.
	Name string
	// GarbageCollection runs the controllers that delete objects whose owner or namespace is gone.
	GarbageCollection bool
	// Bare does not install OCM's CRDs, so that OCM's operator can install them.
	Bare bool
	// APIServerArgs are added to the flags of kube-apiserver.
	APIServerArgs []string
}

// StartHub starts a hub with OCM's CRDs and this project's ManifestWorkReplicaSet.
func (e *Env) StartHub(ctx context.Context, options HubOptions) (*ControlPlane, error) {
	definitions, err := HubCRDs()
	if err != nil {
		return nil, err
	}
	plane := Options{Name: options.Name, CRDs: definitions, APIServerArgs: options.APIServerArgs}
	if options.Bare {
		plane.CRDs = nil
	}
	if plane.Name == "" {
		plane.Name = "hub"
	}
	if options.GarbageCollection {
		plane.Controllers = []string{GarbageCollector, Namespaces}
	}
	return e.Start(ctx, plane)
}

// StartManagedClusters starts a control plane for each name, all at the same time, with the CRDs of a work agent. If workloads is set, it
// also starts the controllers that create Pods for Deployments.
func (e *Env) StartManagedClusters(ctx context.Context, workloads bool, names ...string) ([]*ControlPlane, error) {
	definitions, err := ManagedClusterCRDs()
	if err != nil {
		return nil, err
	}
	var controllers []string
	if workloads {
		controllers = []string{Deployments, ReplicaSets, GarbageCollector, Namespaces}
	}
	planes := make([]*ControlPlane, len(names))
	var starts errgroup.Group
	for i, name := range names {
		starts.Go(func() error {
			var err error
			planes[i], err = e.Start(ctx, Options{Name: name, CRDs: definitions, Controllers: controllers})
			return err
		})
	}
	if err := starts.Wait(); err != nil {
		return nil, err
	}
	return planes, nil
}
