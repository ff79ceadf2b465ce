package dashboard

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/pkg/client/clientset/versioned"
	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
	"github.com/open-cluster-management-io/work-rollback/test/internal/agents"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
	"github.com/open-cluster-management-io/work-rollback/test/internal/manager"
)

// patience is the time limit of a wait. It elapses only if something is wrong, or the machine is busy.
const patience = 90 * time.Second

// settle is the hub's --success-settle.
const settle = 500 * time.Millisecond

// suite is the hub of all tests.
var suite *world

// world is a hub with simulated agents.
type world struct {
	plane       *controlplane.ControlPlane
	kube        kubernetes.Interface
	clusters    clusterclient.Interface
	works       workclient.Interface
	replicaSets versioned.Interface
	fleet       *sandbox.Fleet
	agents      *agents.Agents
}

// The reports from the agents about a version.
var (
	succeeds, silent = agents.Succeeds, agents.Silent
	hangs            = agents.Outcome{Progressing: true, Message: "waiting for 2 of 3 replicas to become ready"}
	degrades         = agents.Outcome{Progressing: true, Degraded: true, Message: "Deployment shop/web: ProgressDeadlineExceeded"}
)

// chromium is the path of the browser; empty if it is not installed.
var chromium string

func TestMain(m *testing.M) {
	flag.Parse()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// needsChromium skips a test without a browser, except in CI.
func needsChromium(t *testing.T) {
	t.Helper()
	switch {
	case chromium != "":
	case os.Getenv("CI") == "true":
		t.Fatal("Chromium is not installed: run apt-get install chromium")
	default:
		t.Skip("Chromium is not installed: run apt-get install chromium")
	}
}

func run(m *testing.M) (int, error) {
	if chromium == "" {
		return m.Run(), nil // All tests skip or fail.
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	env, err := controlplane.NewEnv(ctx, os.Stderr)
	if err != nil {
		return 1, err
	}
	defer func() { _ = env.Stop(context.WithoutCancel(ctx)) }()
	if err := sandbox.LogToFile(env.Group.Path("logs", "manager-and-agents.log")); err != nil {
		return 1, err
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := errors.Join(flags.Set("stderrthreshold", "FATAL"), manager.EnableReplicaSets()); err != nil {
		return 1, err
	}
	if suite, err = newWorld(ctx, env); err != nil {
		return 1, err
	}
	options := hub.NewOptions()
	options.SuccessSettle = settle
	manage := (&hub.Manager{Options: options, Clock: clock.RealClock{}}).Run
	stop := manager.Start(ctx, unlimited(suite.plane.RESTConfig()), func(ctx context.Context, c *controllercmd.ControllerContext) error {
		if err := manage(ctx, c); err != nil && ctx.Err() == nil {
			panic(err)
		}
		return nil
	})
	defer func() { _ = stop() }()
	return m.Run(), nil
}

func newWorld(ctx context.Context, env *controlplane.Env) (*world, error) {
	plane, err := env.StartHub(ctx, controlplane.HubOptions{GarbageCollection: true})
	if err != nil {
		return nil, err
	}
	w, config := &world{plane: plane}, unlimited(plane.RESTConfig())
	if w.kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if w.clusters, err = clusterclient.NewForConfig(config); err != nil {
		return nil, err
	}
	if w.works, err = workclient.NewForConfig(config); err != nil {
		return nil, err
	}
	if w.replicaSets, err = versioned.NewForConfig(config); err != nil {
		return nil, err
	}
	if w.fleet, err = sandbox.NewFleet(config); err != nil {
		return nil, err
	}
	w.agents = agents.New(w.works)
	go w.agents.Poll(ctx, 200*time.Millisecond)
	return w, nil
}

func unlimited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, 0
	return config
}

// eventually polls until check returns nil, and fails with its last error.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	await.Eventually(t, patience, what, check)
}
