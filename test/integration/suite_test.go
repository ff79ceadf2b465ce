package integration

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	ocmfeature "open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/features"

	"github.com/open-cluster-management-io/work-rollback/pkg/client/clientset/versioned"
	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox/controlplane"
)

// settle is short here: the simulated agents lie for no longer than they are told to.
const settle = 400 * time.Millisecond

// patience is how long a test waits for what should happen. It passes only when something is wrong, or the machine is busy.
const patience = 60 * time.Second

// suite is what all tests of this package share: one hub, one manager, one set of simulated agents.
var suite struct {
	env         *controlplane.Env
	plane       *controlplane.ControlPlane
	config      *rest.Config
	kube        kubernetes.Interface
	clusters    clusterclient.Interface
	works       workclient.Interface
	replicaSets versioned.Interface
	dynamic     dynamic.Interface
	fleet       *sandbox.Fleet
	agents      *agents
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	env, err := controlplane.NewEnv(ctx, os.Stderr)
	if err != nil {
		return 1, err
	}
	defer func() { _ = env.Stop(context.WithoutCancel(ctx)) }()
	plane, err := env.StartHub(ctx, controlplane.HubOptions{GarbageCollection: true})
	if err != nil {
		return 1, err
	}
	suite.env, suite.plane, suite.config = env, plane, unlimited(plane.RESTConfig())
	if err := connect(); err != nil {
		return 1, err
	}
	if err := features.HubMutableFeatureGate.Add(ocmfeature.DefaultHubWorkFeatureGates); err != nil {
		return 1, err
	}
	if err := features.HubMutableFeatureGate.Set(string(ocmfeature.ManifestWorkReplicaSet) + "=true"); err != nil {
		return 1, err
	}
	suite.agents = newAgents(suite.works)
	go suite.agents.run(ctx)
	stop := startManager(ctx, settle)
	defer stop()
	return m.Run(), nil
}

func connect() (err error) {
	if suite.kube, err = kubernetes.NewForConfig(suite.config); err != nil {
		return err
	}
	if suite.clusters, err = clusterclient.NewForConfig(suite.config); err != nil {
		return err
	}
	if suite.works, err = workclient.NewForConfig(suite.config); err != nil {
		return err
	}
	if suite.replicaSets, err = versioned.NewForConfig(suite.config); err != nil {
		return err
	}
	if suite.dynamic, err = dynamic.NewForConfig(suite.config); err != nil {
		return err
	}
	suite.fleet, err = sandbox.NewFleet(suite.config)
	return err
}

func unlimited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, 0
	return config
}

// startManager runs the hub's manager in this process. stop returns when it ended.
func startManager(ctx context.Context, settle time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	options := hub.NewOptions()
	options.SuccessSettle = settle
	manager := &hub.Manager{Options: options, Clock: clock.RealClock{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := manager.Run(ctx, &controllercmd.ControllerContext{KubeConfig: rest.CopyConfig(suite.config)}); err != nil {
			panic(err)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// eventually polls until check returns nil, and fails with what it said last.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v (%v)", what, last, err)
	}
}

// always polls for a while and fails when check does.
func always(t *testing.T, what string, during time.Duration, check func() error) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, during, true, func(context.Context) (bool, error) {
		return false, check()
	})
	if !wait.Interrupted(err) {
		t.Fatalf("%s: %v", what, err)
	}
}
