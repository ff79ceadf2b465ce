package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/tools"
	"github.com/open-cluster-management-io/work-rollback/pkg/client/clientset/versioned"
	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
	"github.com/open-cluster-management-io/work-rollback/test/internal/agents"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
	"github.com/open-cluster-management-io/work-rollback/test/internal/manager"
)

// settle is short here, because the simulated agents report wrong states only when a test requests it.
const settle = 800 * time.Millisecond

// patience is the time limit of a wait. It elapses only if something is wrong, or the machine is busy.
const patience = 60 * time.Second

// atOnce is the number of tests that run at the same time: more than the number of cores, because most tests wait. ownAtOnce applies if all
// tests start their own control planes.
const atOnce, ownAtOnce = "16", "8"

// env runs every control plane and process of these tests.
var env *controlplane.Env

// world is a hub.
type world struct {
	plane       *controlplane.ControlPlane
	config      *rest.Config
	kube        kubernetes.Interface
	clusters    clusterclient.Interface
	works       workclient.Interface
	replicaSets versioned.Interface
	dynamic     dynamic.Interface
	fleet       *sandbox.Fleet
	agents      *agents.Agents
	history     *history
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	parallel := atOnce
	if os.Getenv(planesEnv) == "own" {
		parallel = ownAtOnce
	}
	if err := flag.Set("test.parallel", parallel); err != nil {
		return 1, err
	}
	ctx := context.Background()
	var err error
	if env, err = controlplane.NewEnv(ctx, os.Stderr); err != nil {
		return 1, err
	}
	defer func() { _ = env.Stop(ctx) }()
	if err := sandbox.LogToFile(env.Group.Path("logs", "manager-and-agents.log")); err != nil {
		return 1, err
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"stderrthreshold": "FATAL", "v": "2"} {
		if err := flags.Set(name, value); err != nil {
			return 1, err
		}
	}
	if err := manager.EnableReplicaSets(); err != nil {
		return 1, err
	}
	code := m.Run()
	closing.Lock()
	defer closing.Unlock()
	for _, end := range closing.ends {
		end()
	}
	if code != 0 {
		keepLog(env.Group.Path("logs", "manager-and-agents.log"))
	}
	return code, nil
}

// suite is shared by most tests of this package: one hub, one manager, and one set of simulated agents. The first test starts it.
var suite = sync.OnceValues(func() (*world, error) {
	ctx, cancel := context.WithCancel(context.Background())
	atTheEnd(cancel)
	w, err := newWorld(ctx, "hub")
	if err != nil {
		return nil, err
	}
	if err := w.simulateAgents(ctx); err != nil {
		return nil, err
	}
	atTheEnd(w.startManager(ctx, settle))
	return w, nil
})

// closing holds the functions to call after the last test.
var closing struct {
	sync.Mutex
	ends []func()
}

func atTheEnd(end func()) {
	closing.Lock()
	defer closing.Unlock()
	closing.ends = slices.Insert(closing.ends, 0, end)
}

// keepLog keeps the logs of the hub and the agents if a test failed, because the failure may not be reproducible.
func keepLog(path string) {
	log, err := os.ReadFile(path) //nolint:gosec // The suite made it.
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	kept, err := os.CreateTemp("", "work-integration-*.log")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer func() { _ = kept.Close() }()
	if _, err := kept.Write(log); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Fprintln(os.Stderr, "what the hub and the agents logged is in", kept.Name())
}

// hubBinary builds the hub once, for tests that require a separate process: for its feature gates, its flags, or its end.
func hubBinary(t *testing.T) string {
	t.Helper()
	binary, err := buildHub()
	require.NoError(t, err)
	return binary
}

var buildHub = sync.OnceValues(func() (string, error) {
	if manager.Binary() != "" {
		return "", errors.New(manager.NotWithABinary)
	}
	return tools.BuildWork(context.Background(), env.Group.Path("bin"))
})

// newWorld starts a hub without a manager and without agents.
func newWorld(ctx context.Context, name string) (*world, error) {
	plane, err := env.StartHub(ctx, controlplane.HubOptions{Name: name, GarbageCollection: true})
	if err != nil {
		return nil, err
	}
	w := &world{plane: plane, config: unlimited(plane.RESTConfig())}
	if err := w.connect(); err != nil {
		return nil, err
	}
	w.history = newHistory()
	return w, w.history.run(ctx, w)
}

// planesEnv selects the tests that run: "shared" omits the tests that start their own control planes, and "own" omits all other tests.
const planesEnv = "TEST_CONTROL_PLANES"

// shares skips a test on shared control planes if only the other tests should run.
func shares(t *testing.T) {
	t.Helper()
	if os.Getenv(planesEnv) == "own" {
		t.Skip("it shares control planes: make test runs it")
	}
}

// shared returns the suite, for a test that runs on it.
func shared(t *testing.T) *world {
	t.Helper()
	shares(t)
	w, err := suite()
	require.NoError(t, err)
	return w
}

// privateWorld starts a hub for a test that would disturb other tests.
func privateWorld(t *testing.T, name string) *world {
	t.Helper()
	if os.Getenv(planesEnv) == "shared" {
		t.Skip("it starts control planes of its own: make test-slow runs it")
	}
	w, err := newWorld(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.plane.ControllerManager.Kill()
		_ = w.plane.Stop()
	})
	return w
}

// simulateAgents starts the simulated agents of all clusters.
func (w *world) simulateAgents(ctx context.Context) error {
	w.agents = agents.New(w.works)
	return w.agents.Watch(ctx, w.history.works)
}

func (w *world) connect() (err error) {
	if w.kube, err = kubernetes.NewForConfig(w.config); err != nil {
		return err
	}
	if w.clusters, err = clusterclient.NewForConfig(w.config); err != nil {
		return err
	}
	if w.works, err = workclient.NewForConfig(w.config); err != nil {
		return err
	}
	if w.replicaSets, err = versioned.NewForConfig(w.config); err != nil {
		return err
	}
	if w.dynamic, err = dynamic.NewForConfig(w.config); err != nil {
		return err
	}
	w.fleet, err = sandbox.NewFleet(w.config)
	return err
}

func unlimited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, 0
	return config
}

// startManager runs the hub's manager in this process. stop returns once the manager has ended; none of its requests reach the API server
// after that.
func (w *world) startManager(ctx context.Context, settle time.Duration, wrappers ...func(http.RoundTripper) http.RoundTripper) (stop func()) {
	return w.startManagerAt(ctx, settle, clock.RealClock{}, wrappers...)
}

// startManagerAt is startManager with the test's own clock.
func (w *world) startManagerAt(
	ctx context.Context, settle time.Duration, clk clock.PassiveClock, wrappers ...func(http.RoundTripper) http.RoundTripper,
) (stop func()) {
	options := hub.NewOptions()
	options.SuccessSettle = settle
	return w.startManagerWith(ctx, options, clk, wrappers...)
}

// startManagerWith runs the hub's manager with the test's own flags and clock.
func (w *world) startManagerWith(
	ctx context.Context, options *hub.Options, clk clock.PassiveClock, wrappers ...func(http.RoundTripper) http.RoundTripper,
) (stop func()) {
	if binary := manager.Binary(); binary != "" {
		if clk != (clock.RealClock{}) || len(wrappers) > 0 || options.WorkDriver != hub.NewOptions().WorkDriver {
			panic(manager.NotWithABinary)
		}
		return w.startBinary(ctx, binary, options)
	}
	return w.start(ctx, (&hub.Manager{Options: options, Clock: clk}).Run, wrappers...)
}

// startBinary runs the hub's manager as a process, from a build that has this project's controller and different flags.
func (w *world) startBinary(ctx context.Context, binary string, options *hub.Options) (stop func()) {
	kubeconfig := env.Group.Path("kubeconfigs", fmt.Sprintf("manager-%d", started.Add(1)))
	args := []string{"--kubeconfig=" + kubeconfig, "--kube-api-qps=200", "--kube-api-burst=400"}
	if options.WorkDriverConfig != "" {
		args = append(args, "--work-driver-config="+options.WorkDriverConfig)
	}
	err := os.MkdirAll(filepath.Dir(kubeconfig), 0o700)
	if err == nil {
		err = controlplane.WriteKubeconfig(kubeconfig, "hub", w.config)
	}
	process, newErr := sandbox.NewWorkHub(env.Group, binary, w.plane.APIServer, args...)
	if err = errors.Join(err, newErr); err == nil {
		err = process.Start(ctx)
	}
	if err != nil {
		panic(err)
	}
	return func() { _ = process.Kill() }
}

// started counts the managers that run as processes.
var started atomic.Int64

// startUpstream runs the manager that this hub replaces: the manager of the linked OCM release.
func (w *world) startUpstream(ctx context.Context) (stop func()) {
	return w.start(ctx, manager.Upstream)
}

// start runs a manager in this process. If the manager ends by itself with an error, all tests end.
func (w *world) start(ctx context.Context, run controllercmd.StartFunc, wrappers ...func(http.RoundTripper) http.RoundTripper) (stop func()) {
	config := rest.CopyConfig(w.config)
	for _, wrap := range wrappers {
		config.Wrap(wrap)
	}
	end := manager.Start(ctx, config, func(ctx context.Context, controllers *controllercmd.ControllerContext) error {
		if err := run(ctx, controllers); err != nil && ctx.Err() == nil {
			panic(err)
		}
		return nil
	})
	return func() { _ = end() }
}

// pollInterval is the interval at which the simulated components of a cluster poll.
const pollInterval = 100 * time.Millisecond

// eventually polls until check returns nil, and fails with its last error.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	await.Eventually(t, patience, what, check)
}

// always polls for a duration, and fails if check returns an error.
func always(t *testing.T, what string, during time.Duration, check func() error) {
	t.Helper()
	await.Always(t, during, what, check)
}
