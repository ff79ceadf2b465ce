package sandbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ocmfeature "open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/common/options"
	"open-cluster-management.io/ocm/pkg/features"
	"open-cluster-management.io/ocm/pkg/work/spoke"
)

// AgentOptions are the options of a work agent.
type AgentOptions struct {
	// Cluster is the name of the managed cluster, and of its namespace on the hub.
	Cluster string
	// HubKubeconfig is the file with which the agent connects to the hub.
	HubKubeconfig string
	// SourceDriver is the transport of the works: kube if empty, mqtt or grpc.
	SourceDriver string
	// SourceConfig is the configuration file of the driver mqtt or grpc.
	SourceConfig string
	// Managed is the configuration with which the agent connects to its own cluster.
	Managed *rest.Config
	// StatusSyncInterval is the interval at which the agent checks the objects that it applied. The default is 2 s; in OCM, it is 10 s.
	StatusSyncInterval time.Duration
}

// Agent is OCM's work agent of one managed cluster. It runs inside this process.
type Agent struct {
	options AgentOptions

	mu     sync.Mutex
	cancel context.CancelFunc
	done   chan struct{}
	// starts is the number of times the agent was started.
	starts int
}

// RegisterAgentFeatureGates registers the feature gates of OCM's work agent, once per process.
var RegisterAgentFeatureGates = sync.OnceValue(func() error {
	return features.SpokeMutableFeatureGate.Add(ocmfeature.DefaultSpokeWorkFeatureGates)
})

// NewAgent returns an agent that is not running yet.
func NewAgent(agentOptions AgentOptions) (*Agent, error) {
	if err := RegisterAgentFeatureGates(); err != nil {
		return nil, fmt.Errorf("registering the feature gates of the work agent: %w", err)
	}
	if agentOptions.StatusSyncInterval == 0 {
		agentOptions.StatusSyncInterval = 2 * time.Second
	}
	return &Agent{options: agentOptions}, nil
}

// Start runs the agent until Stop. It has no effect if the agent is already running.
func (a *Agent) Start() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	a.cancel, a.done = cancel, done
	a.starts++
	clientID := fmt.Sprintf("%s-work-agent-%d", a.options.Cluster, a.starts)
	go func() {
		defer close(done)
		if err := a.run(ctx, clientID); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "The agent ended", "cluster", a.options.Cluster)
		}
	}()
}

// Stop takes the cluster offline: its agent sees and reports nothing until it is started again. A write that was already sent still
// arrives.
func (a *Agent) Stop() {
	a.mu.Lock()
	cancel, done := a.cancel, a.done
	a.cancel = nil
	a.mu.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
}

// run runs the agent with a client ID that no previous run used. If the context of sdk-go's client ends while there is no connection, the
// client continues to connect, and would repeatedly take over the connection of the next run. In a real agent, the client ends with the
// process.
func (a *Agent) run(ctx context.Context, clientID string) error {
	common := options.NewAgentOptions()
	common.SpokeClusterName = a.options.Cluster
	common.AgentID = a.options.Cluster + "-agent"
	// OCM sets defaults for these limits only when it parses flags. Zero would mean five requests per second.
	common.HubQPS, common.HubBurst = 50, 100

	work := spoke.NewWorkloadAgentOptions()
	work.StatusSyncInterval = a.options.StatusSyncInterval
	work.WorkloadSourceConfig = a.options.HubKubeconfig
	if a.options.SourceDriver != "" {
		work.WorkloadSourceDriver, work.WorkloadSourceConfig = a.options.SourceDriver, a.options.SourceConfig
		work.CloudEventsClientID = clientID
	}

	agent := spoke.NewWorkAgentConfig(common, work)
	err := agent.RunWorkloadAgent(ctx, &controllercmd.ControllerContext{KubeConfig: rest.CopyConfig(a.options.Managed)})
	if err != nil {
		return fmt.Errorf("running the work agent of %s: %w", a.options.Cluster, err)
	}
	return nil
}
