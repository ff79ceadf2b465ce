package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
)

// Names in the sandbox.
const (
	// Namespace is the namespace of the demo's ManifestWorkReplicaSet and Placement on the hub.
	Namespace = "demo"
	// PlacementName is the Placement that selects every cluster.
	PlacementName = "all-clusters"
)

// Options are the options of a sandbox.
type Options struct {
	// Clusters is the number of complete managed clusters: each has an API server and OCM's own work agent.
	Clusters int
	// Light is the number of additional light clusters. LightAgents describes which parts of them are real.
	Light int
	// WorkBinary is the binary of this project's work hub.
	WorkBinary string
	// WorkArgs are added to the flags of the work hub.
	WorkArgs []string
	// Operator makes OCM's ClusterManager operator set up the hub. The work hub then runs as in the operator's Deployment and deploy/: with
	// the token of its ServiceAccount and its permissions, while the feature gate is enabled. Otherwise, the sandbox installs the CRDs, and
	// the work hub has all permissions.
	Operator bool
	// Keep leaves the directory with the logs after Stop.
	Keep bool
	// Out receives a line for each component that is started.
	Out io.Writer
}

// Sandbox is a hub with its managed clusters.
type Sandbox struct {
	Env      *controlplane.Env
	Hub      *controlplane.ControlPlane
	WorkHub  *WorkHub
	Fleet    *Fleet
	Clusters []*ManagedCluster
	// LightClusters are the names of the light clusters, and LightAgents simulates them; nil if there are none.
	LightClusters []string
	LightAgents   *LightAgents

	// Operator, Webhook and the kubelets of WorkHub and Webhook are nil unless the options ask for the operator.
	Operator       *Operator
	Webhook        *WebhookServer
	Kubelet        *Kubelet
	WebhookKubelet *Kubelet

	stopPlacement func() error
	say           func(string, ...any)
}

// Start starts a sandbox. The sandbox is up when Start returns: the clusters have joined, a Placement selects them, and the work hub runs.
func Start(ctx context.Context, options Options) (*Sandbox, error) {
	say := func(format string, args ...any) { fmt.Fprintf(options.Out, format+"\n", args...) }
	env, err := controlplane.NewEnv(ctx, options.Out)
	if err != nil {
		return nil, err
	}
	if options.Keep {
		env.Group.KeepDir()
	}
	s := &Sandbox{Env: env, say: say}
	say("Starting a hub and %d managed clusters in %s ...", options.Clusters+options.Light, env.Group.Dir)
	if err := s.start(ctx, options, say); err != nil {
		// The start may have failed because the context ended, so Stop needs another context.
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Sandbox) start(ctx context.Context, options Options, say func(string, ...any)) error {
	if err := LogToFile(s.Env.Group.Path("logs", "agents.log")); err != nil {
		return err
	}
	var err error
	if s.Hub, err = s.Env.StartHub(ctx, controlplane.HubOptions{GarbageCollection: true, Bare: options.Operator}); err != nil {
		return err
	}
	say("The hub's API server is up. Now OCM's controllers and the managed clusters ...")
	var work errgroup.Group
	work.Go(func() error {
		var err error
		s.Clusters, err = StartManagedClusters(ctx, s.Env, s.Hub.APIServer, clusterNames(options.Clusters)...)
		return err
	})
	work.Go(func() error { return s.startHubControllers(ctx, options) })
	if err := work.Wait(); err != nil {
		return err
	}
	for _, cluster := range s.Clusters {
		if err := s.Fleet.Join(ctx, cluster.Name, cluster.Host()); err != nil {
			return err
		}
		cluster.Agent.Start()
	}
	if err := s.startLight(ctx, options); err != nil {
		return err
	}
	say("The managed clusters are up and have joined the hub.")
	return nil
}

// startHubControllers starts the controllers of the hub: OCM's placement controller and the work hub.
func (s *Sandbox) startHubControllers(ctx context.Context, options Options) error {
	if options.Operator {
		if err := s.installOperator(ctx); err != nil {
			return err
		}
	}
	var err error
	if s.Fleet, err = NewFleet(s.Hub.RESTConfig()); err != nil {
		return err
	}
	for _, namespace := range []string{HubNamespace, Namespace} {
		if err := s.Fleet.Namespace(ctx, namespace); err != nil {
			return err
		}
	}
	if err := s.Fleet.Bind(ctx, Namespace); err != nil {
		return err
	}
	if err := s.Fleet.Place(ctx, Namespace, PlacementName); err != nil {
		return err
	}
	s.stopPlacement = StartPlacement(s.Hub.RESTConfig())
	if options.Operator {
		return s.startDeployedWorkHub(ctx, options)
	}
	args := append(ShortLease(), options.WorkArgs...)
	if s.WorkHub, err = NewWorkHub(s.Env.Group, options.WorkBinary, s.Hub.APIServer, args...); err != nil {
		return err
	}
	return s.WorkHub.Start(ctx)
}

// installOperator performs the steps of an administrator: `clusteradm init`, and then `kubectl apply -k deploy`.
func (s *Sandbox) installOperator(ctx context.Context) error {
	hub := s.Hub.RESTConfig()
	var err error
	if s.Operator, err = StartOperator(ctx, hub); err != nil {
		return err
	}
	if err := Deploy(ctx, hub); err != nil {
		return err
	}
	definitions, err := controlplane.HubCRDs()
	if err != nil {
		return err
	}
	return controlplane.WaitForCRDs(ctx, hub, definitions...)
}

// startDeployedWorkHub runs the work hub as the operator's Deployment describes. The operator creates more Deployments, which do not run:
// the placement controller runs inside this process, and Fleet replaces the registration controller. The webhook server runs, but the API
// server does not call it, because Services are not reachable here.
func (s *Sandbox) startDeployedWorkHub(ctx context.Context, options Options) error {
	args := append(ShortLease(), options.WorkArgs...)
	var err error
	if s.WorkHub, err = NewDeployedWorkHub(s.Env.Group, options.WorkBinary, args...); err != nil {
		return err
	}
	if s.Kubelet, err = StartKubelet(s.Hub.APIServer, HubNamespace, WorkController, s.WorkHub); err != nil {
		return err
	}
	if s.Webhook, err = NewWebhookServer(s.Env.Group, options.WorkBinary); err != nil {
		return err
	}
	if s.WebhookKubelet, err = StartKubelet(s.Hub.APIServer, HubNamespace, WorkWebhook, s.Webhook); err != nil {
		return err
	}
	return errors.Join(s.Kubelet.WaitRunning(ctx), s.WebhookKubelet.WaitRunning(ctx))
}

// StayUp waits until ctx ends, and then returns nil. If the work hub ends unexpectedly, it is started again, after a longer delay each
// time, as a kubelet does.
func (s *Sandbox) StayUp(ctx context.Context) error {
	var kubelet, webhookKubelet <-chan struct{}
	if s.Kubelet != nil {
		kubelet = s.Kubelet.Done()
	}
	if s.WebhookKubelet != nil {
		webhookKubelet = s.WebhookKubelet.Done()
	}
	restarts := &restarts{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.WorkHub.Crashed():
			after := restarts.next(time.Now())
			s.say("The work hub ended, and is started again in %s: %v", after, err)
			restarts.due = time.After(after)
		case <-restarts.due:
			if err := s.WorkHub.Restart(ctx); err != nil && ctx.Err() == nil {
				after := restarts.next(time.Now())
				s.say("The work hub did not start, and is started again in %s: %v", after, err)
				restarts.due = time.After(after)
				continue
			}
			s.sayRunning()
		case <-kubelet:
			return s.Kubelet.Err()
		case <-webhookKubelet:
			return s.WebhookKubelet.Err()
		}
	}
}

// sayRunning prints the process ID of the work hub, for users who want to kill it.
func (s *Sandbox) sayRunning() {
	if child := s.WorkHub.Process(); child != nil {
		s.say("The work hub runs %s as process %d.", s.WorkHub.Binary(), child.PID())
	}
}

// restarts is the back-off between starts of a work hub that ends repeatedly.
type restarts struct {
	wait time.Duration
	last time.Time
	due  <-chan time.Time
}

// The first restart comes soon, and each further restart after a longer delay. After a quiet period, the delay is short again.
const (
	firstRestart = time.Second
	lastRestart  = 30 * time.Second
)

// next returns the time to wait.
func (r *restarts) next(now time.Time) time.Duration {
	if r.wait == 0 || now.Sub(r.last) > 2*lastRestart {
		r.wait = firstRestart
	} else {
		r.wait = min(2*r.wait, lastRestart)
	}
	r.last = now
	return r.wait
}

func clusterNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("cluster%d", i+1)
	}
	return names
}

// Stop ends everything, and removes every file unless the files are to be kept.
func (s *Sandbox) Stop(ctx context.Context) error {
	var errs []error
	for _, cluster := range s.Clusters {
		if cluster == nil {
			continue
		}
		if cluster.Agent != nil {
			cluster.Agent.Stop()
		}
		if cluster.Node != nil {
			cluster.Node.Stop()
		}
	}
	if s.LightAgents != nil {
		s.LightAgents.Stop()
	}
	for _, kubelet := range []*Kubelet{s.Kubelet, s.WebhookKubelet} {
		if kubelet != nil {
			kubelet.Stop()
		}
	}
	if s.Operator != nil {
		errs = append(errs, s.Operator.Stop())
	}
	if s.stopPlacement != nil {
		errs = append(errs, s.stopPlacement())
	}
	return errors.Join(append(errs, s.Env.Stop(ctx))...)
}
