package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/clients"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
	"github.com/open-cluster-management-io/work-rollback/pkg/sandbox"
)

// agentReturn is how long the hub waits for agents after the broker was away; they try again every half a second here.
const agentReturn = 3 * time.Second

func init() {
	// It is one for the whole process, and read by whatever is connected: set before anything is.
	clients.DelayFn = func() time.Duration { return 500 * time.Millisecond }
}

// eventFleet is a fleet of real clusters whose works travel by a CloudEvents driver: the hub's API server never has one.
type eventFleet struct {
	*realFleet
	options *hub.Options
	sent    *sent
	stop    func()
}

func newEventFleet(t *testing.T, name, driver, config string, agentConfig func(cluster string) string, sent *sent) *eventFleet {
	t.Helper()
	f := &eventFleet{sent: sent, options: hub.NewOptions()}
	f.options.WorkDriver, f.options.WorkDriverConfig = driver, config
	f.options.CloudEventsClientID = "mwrsctrl-client"
	f.options.CloudEventsAgentReturn = agentReturn
	f.realFleet = newRealClusters(t, name, func(o *sandbox.AgentOptions) {
		o.SourceDriver, o.SourceConfig = driver, agentConfig(o.Cluster)
	})
	f.startHub()
	t.Cleanup(f.stopHub)
	return f
}

func newMQTTFleet(t *testing.T, name string) (*eventFleet, *broker) {
	t.Helper()
	b := newBroker(t)
	return newEventFleet(t, name, "mqtt", b.sourceConfig(), b.agentConfig, &b.sent), b
}

func (f *eventFleet) startHub(wrappers ...func(http.RoundTripper) http.RoundTripper) {
	f.stop = f.w.startManagerWith(context.WithoutCancel(f.t.Context()), f.options, wrappers...)
}

func (f *eventFleet) stopHub() {
	if f.stop != nil {
		f.stop()
		f.stop = nil
	}
}

// restart starts a hub whose memory is empty.
func (f *eventFleet) restart() {
	f.stopHub()
	f.startHub()
}

// gated is a template whose version works on a cluster once that is opened for it.
func gated(version string) workv1.ManifestWorkSpec {
	spec := realTemplate(version, true)
	closed := fmt.Sprintf(`!has(object.metadata.annotations) || !("open-%s" in object.metadata.annotations)`, version)
	for i, rule := range spec.ManifestConfigs[0].ConditionRules {
		if rule.Condition == workv1.WorkProgressing {
			rule.CelExpressions = []string{closed}
			spec.ManifestConfigs[0].ConditionRules[i] = rule
		}
	}
	return spec
}

func (f *eventFleet) rollGated(version string) {
	f.t.Helper()
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.ManifestWorkTemplate = gated(version) })
}

// open lets a version work on a cluster that has it.
func (f *eventFleet) open(short, version string) {
	f.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"open-%s":"yes"}}}`, version)
	_, err := f.kube[short].CoreV1().ConfigMaps("default").Patch(f.t.Context(), "demo", types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(f.t, err)
}

// start makes the ManifestWorkReplicaSet and waits until v1 is everywhere.
func (f *eventFleet) start(strategy workv1alpha1.RolloutStrategy) {
	f.t.Helper()
	mwrs := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: f.name, Namespace: f.namespace}}
	mwrs.Spec.ManifestWorkTemplate = realTemplate("v1", true)
	mwrs.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref("p1", strategy)}
	_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Create(f.t.Context(), mwrs, metav1.CreateOptions{})
	require.NoError(f.t, err)
	f.complete()
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
}

// confirmed waits until both clusters report that they are back.
func (f *eventFleet) confirmed() {
	f.t.Helper()
	eventually(f.t, "both confirm", func() error {
		if text := message(f.get(), workv1alpha1.ConditionProgressing); !strings.Contains(text, "confirmed by 2 of 2 clusters") {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
}

// first is the cluster that a version reached first, and the other one.
func (f *eventFleet) first(version string) (first, other string) {
	f.t.Helper()
	eventually(f.t, "a cluster has "+version, func() error {
		for i, short := range f.clusters {
			if f.deployed(short) == version {
				first, other = short, f.clusters[1-i]
				return nil
			}
		}
		return fmt.Errorf("none has it")
	})
	return first, other
}

// unsent fails when anything was written to a cluster since.
func (f *eventFleet) unsent(before []string, what string) {
	f.t.Helper()
	require.Equal(f.t, before, f.sent.works(), what)
}

// tellsStory plays rollout, update, abort and undo, with a hub that forgets everything in between.
func (f *eventFleet) tellsStory() {
	f.t.Helper()
	f.start(progressive(1, "8s", 0, abortAll))
	f.quiet()
	before := f.sent.works()
	require.Len(f.t, before, 2, "one work for each cluster")

	f.restart()
	f.quiet()
	f.complete()
	f.unsent(before, "a restart writes nothing where all is complete")

	f.roll("v2", true)
	f.complete()
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	require.Equal(f.t, 2, f.get().Status.Summary.Total)

	f.roll("v3", false)
	f.aborted()
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	f.confirmed()
	f.quiet()
	before = f.sent.works()
	require.Len(f.t, before, 6, "v1 and v2 everywhere, v3 to one cluster and back")

	f.restart()
	f.quiet()
	f.aborted()
	f.confirmed()
	f.unsent(before, "a restart writes nothing where all is aborted")

	f.roll("v1", true)
	f.complete()
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
	require.Equal(f.t, []string{"v2", "v3", "v1"}, f.recorded())
	f.quiet()
	require.Len(f.t, f.sent.works(), 8)

	f.delete()
	f.gone()
	f.deploys(map[string]string{"c1": "", "c2": ""})
	f.restart()
	require.Empty(f.t, f.works(), "no ManifestWork was ever in the hub's API server")
}

func TestCloudEventsMQTT(t *testing.T) {
	t.Parallel()
	f, _ := newMQTTFleet(t, "mqtt")
	f.tellsStory()
}

// A hub that is restarted in the middle of a rollout or of an abort decides nothing before it knows again what there is.
func TestCloudEventsHubForgetsInTheMiddle(t *testing.T) {
	t.Parallel()
	f, b := newMQTTFleet(t, "mqtt-middle")
	f.start(progressive(1, "10s", 0, abortAll))

	// In the middle of a rollout: one cluster is at it, the other one waits.
	f.rollGated("v2")
	first, other := f.first("v2")
	f.rolling(workv1alpha1.ReasonNewRevisionCreated)
	before := f.sent.works()
	f.restart()
	f.quiet()
	f.rolling(workv1alpha1.ReasonNewRevisionCreated)
	f.unsent(before, "nobody is sent anything twice, and nobody new comes")
	f.open(first, "v2")
	f.deploys(map[string]string{other: "v2"})
	f.open(other, "v2")
	f.complete()
	require.Len(t, f.sent.works(), 4)

	// The hub is killed when the abort is decided, and nothing is written back yet.
	f.stopHub()
	f.startHub(f.killedByAbort)
	f.roll("v3", false)
	first, other = f.first("v3")
	eventually(t, "the abort is decided", func() error {
		if f.get().Status.AbortedTime == nil {
			return fmt.Errorf("%s", describe(f.get()))
		}
		return nil
	})
	f.stopHub()
	require.Equal(t, "v3", f.deployed(first))
	// Its agent is offline, and so is the broker for a moment: agents connect after the hub asked for their works.
	f.agents[first].Stop()
	b.stop()
	b.start()
	before = f.sent.works()
	f.startHub()
	f.aborted()
	require.Len(t, f.sent.works(), len(before)+1, "only the cluster that must go back")
	f.agents[first].Start()
	f.confirmed()
	f.deploys(map[string]string{first: "v2", other: "v2"})
	f.quiet()
	require.Len(t, f.sent.works(), len(before)+1)
}

// killedByAbort stops this manager with the write that persists an abort.
func (f *eventFleet) killedByAbort(inner http.RoundTripper) http.RoundTripper {
	var killed atomic.Bool
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if killed.Load() {
			return nil, errKilled
		}
		aborts, err := holds(request, `"abortedTime":"`)
		if err != nil {
			return nil, err
		}
		response, err := inner.RoundTrip(request)
		if aborts && err == nil {
			killed.Store(true)
			go f.stop()
			<-request.Context().Done()
		}
		return response, err
	})
}

// holds says whether the body of a request holds a text.
func holds(request *http.Request, text string) (bool, error) {
	if request.GetBody == nil {
		return false, nil
	}
	body, err := request.GetBody()
	if err != nil {
		return false, err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	return strings.Contains(string(data), text), err
}

// While the broker is away no report reaches the hub: that a cluster succeeded in that time must not be a failure (R11). A failure
// that is one is still one afterwards.
func TestCloudEventsBrokerAway(t *testing.T) {
	t.Parallel()
	f, b := newMQTTFleet(t, "mqtt-away")
	const deadline = 6 * time.Second
	f.start(progressive(1, deadline.String(), 0, abortAll))

	f.rollGated("v2")
	first, other := f.first("v2")
	b.stop()
	f.open(first, "v2")
	always(t, "the deadline passes", deadline+3*time.Second, func() error {
		if f.get().Status.AbortedTime != nil {
			return fmt.Errorf("aborted while the broker was away: %s", describe(f.get()))
		}
		return nil
	})
	b.start()
	f.deploys(map[string]string{other: "v2"})
	f.open(other, "v2")
	f.complete()

	// Written while the broker is away, it arrives when it is back.
	b.stop()
	f.roll("v3", false)
	f.rolling(workv1alpha1.ReasonNewRevisionCreated)
	b.start()
	back := time.Now()
	f.first("v3")
	f.aborted()
	require.GreaterOrEqual(t, time.Since(back), deadline)
	f.confirmed()
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	f.quiet()
}

// An agent keeps all that it knows in its memory. When it is restarted it reports a success of long ago piece by piece: that is no
// failure.
func TestCloudEventsAgentRestarts(t *testing.T) {
	t.Parallel()
	f, _ := newMQTTFleet(t, "mqtt-agent")
	const deadline = 8 * time.Second
	f.start(progressive(1, deadline.String(), 0, abortAll))
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.ManifestWorkTemplate = realTemplate("v2", true)
		mwrs.Spec.PlacementRefs[0].RolloutStrategy.Progressive.MinSuccessTime = metav1.Duration{Duration: 2 * deadline}
	})
	first, _ := f.first("v2")
	written := time.Now()
	eventually(t, "the deadline is over, the soak is not", func() error {
		if passed := time.Since(written); passed < deadline+time.Second {
			return fmt.Errorf("%s passed", passed)
		}
		return nil
	})
	f.agents[first].Stop()
	f.agents[first].Start()
	mwrs := f.complete()
	require.Equal(t, f.hash("v2"), mwrs.Status.CurrentRevision)
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	require.Len(t, f.sent.works(), 4)
}
