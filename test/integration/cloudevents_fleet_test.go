package integration

import (
	"context"
	"errors"
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
	"k8s.io/utils/clock"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/clients"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
	"github.com/open-cluster-management-io/work-rollback/test/internal/manager"
)

// agentReturn is the time that the hub waits for agents after the broker was unavailable. Here, agents retry every half second.
const agentReturn = 6 * time.Second

func init() {
	// The delay is global, and all connections read it: set it before any connection exists.
	clients.DelayFn = func() time.Duration { return 500 * time.Millisecond }
}

// eventFleet is a fleet of real clusters whose works travel by a CloudEvents driver: the hub's API server never has a work.
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
	f.stop = f.w.startManagerWith(context.WithoutCancel(f.t.Context()), f.options, clock.RealClock{}, wrappers...)
}

func (f *eventFleet) stopHub() {
	if f.stop != nil {
		f.stop()
		f.stop = nil
	}
}

// restart starts a hub without memory.
func (f *eventFleet) restart() {
	f.stopHub()
	f.startHub()
}

// gated returns a template whose version works on a cluster once open is called for that cluster.
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

// open makes a version work on a cluster that has it.
func (f *eventFleet) open(short, version string) {
	f.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"open-%s":"yes"}}}`, version)
	_, err := f.kube[short].CoreV1().ConfigMaps("default").Patch(f.t.Context(), "demo", types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(f.t, err)
}

// start creates the ManifestWorkReplicaSet and waits until every cluster has v1.
func (f *eventFleet) start(strategy workv1alpha1.RolloutStrategy) {
	f.t.Helper()
	f.creates(ref("p1", strategy))
}

// first returns the cluster that a version reached first, and the other cluster.
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

// unsent fails if anything was written to a cluster since before.
func (f *eventFleet) unsent(before []string, what string) {
	f.t.Helper()
	require.Equal(f.t, before, f.sent.works(), what)
}

// killedByAbort cuts off a manager when it persists an abort: the manager gets no response to that write, and sends nothing after it.
func (f *eventFleet) killedByAbort(inner http.RoundTripper) http.RoundTripper {
	var killed atomic.Bool
	return manager.RoundTripper(func(request *http.Request) (*http.Response, error) {
		if killed.Load() {
			return nil, errKilled
		}
		aborts, err := holds(request, `"abortedTime":"`)
		if err != nil {
			return nil, err
		}
		response, err := inner.RoundTrip(request)
		if !aborts || err != nil {
			return response, err
		}
		killed.Store(true)
		<-request.Context().Done()
		return nil, errors.Join(errKilled, response.Body.Close())
	})
}

// holds reports whether the body of a request contains a text.
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
