package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/retry"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
)

// lab is shared by the tests of OCM's real agents: a hub whose manager settles successes as in production, and two API servers for managed
// clusters. Each fleet has its own agents. One API server can be the cluster of many agents, because their objects have different names.
var lab = sync.OnceValues(func() (*world, error) {
	w, err := newWorld(context.Background(), "lab")
	if err != nil {
		return nil, err
	}
	atTheEnd(w.startManager(context.Background(), controller.DefaultSuccessSettle))
	return w, nil
})

// managedPlanes returns the API servers that labFleets share, one for each cluster of a fleet.
var managedPlanes = sync.OnceValues(func() ([]*controlplane.ControlPlane, error) {
	return env.StartManagedClusters(context.Background(), false, "managed-c1", "managed-c2")
})

// labFleet is a fleet with OCM's agents, whose connections can be observed and held.
type labFleet struct {
	*fleet
	agents map[string]*labAgent
}

// labAgent is the agent of one cluster.
type labAgent struct {
	*sandbox.Agent
	// hub and managed tap its connections to the hub and to its own cluster.
	hub, managed *tap
	// kube is the test's own client for the cluster.
	kube kubernetes.Interface
}

// labOptions configure the agents of a fleet.
type labOptions struct {
	// statusSync is the interval at which the agents check the objects that they applied; 1 s if zero.
	statusSync time.Duration
}

func newLabFleet(t *testing.T, options labOptions) *labFleet {
	t.Helper()
	shares(t)
	w, err := lab()
	require.NoError(t, err)
	return newLabFleetIn(w, t, options)
}

// newLabFleetIn returns a fleet of two clusters with real agents.
func newLabFleetIn(w *world, t *testing.T, options labOptions) *labFleet {
	t.Helper()
	planes, err := managedPlanes()
	require.NoError(t, err)
	return newLabFleetOn(planes, w, t, options)
}

// newLabFleetOn returns a fleet with a real agent for each of these API servers.
func newLabFleetOn(planes []*controlplane.ControlPlane, w *world, t *testing.T, options labOptions) *labFleet {
	t.Helper()
	f := &labFleet{fleet: newFleetIn(w, t, len(planes)), agents: map[string]*labAgent{}}
	if options.statusSync == 0 {
		options.statusSync = time.Second
	}
	for i, short := range f.clusters {
		f.agents[short] = newLabAgent(t, w, f.cluster(short), planes[i], options)
	}
	f.place("p1", f.clusters)
	return f
}

func newLabAgent(t *testing.T, w *world, cluster string, plane *controlplane.ControlPlane, options labOptions) *labAgent {
	t.Helper()
	a := &labAgent{hub: &tap{}, managed: &tap{}}
	var err error
	a.kube, err = kubernetes.NewForConfig(plane.RESTConfig())
	require.NoError(t, err)
	managed := plane.RESTConfig()
	managed.Wrap(a.managed.wrap)
	a.Agent, err = sandbox.NewAgent(sandbox.AgentOptions{
		Cluster: cluster, HubKubeconfig: tappedKubeconfig(t, w, a.hub), Managed: managed, StatusSyncInterval: options.statusSync,
	})
	require.NoError(t, err)
	a.Start()
	t.Cleanup(a.Stop)
	return a
}

// tappedKubeconfig returns a file with which a client connects to the hub through a tap.
func tappedKubeconfig(t *testing.T, w *world, through *tap) string {
	t.Helper()
	transport, err := rest.TransportFor(w.config)
	require.NoError(t, err)
	target, err := url.Parse(w.plane.Host())
	require.NoError(t, err)
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     through.wrap(transport),
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	})
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub"}
	config.CurrentContext = "hub"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	return file
}

// templates

// data is the content of the ConfigMap that a template holds.
type data map[string]string

// healthy returns a version that agents report as working. stuck returns a version that never finishes.
func healthy(version string) data { return data{"version": version, "works": "true"} }
func stuck(version string) data   { return data{"version": version, "works": "false"} }

// rules returns the rules of most lab templates: the content determines the agent's report.
func rules() []workv1.ConditionRule {
	return []workv1.ConditionRule{
		rule(workv1.WorkProgressing, `object.data.works == "false"`),
		rule(workv1.WorkDegraded, `object.data.works == "degraded"`),
	}
}

func rule(condition, expression string) workv1.ConditionRule {
	return workv1.ConditionRule{Type: workv1.CelConditionExpressionsType, Condition: condition, CelExpressions: []string{expression}}
}

// object returns the name of a fleet's n-th ConfigMap on its clusters.
func (f *labFleet) object(n int) string { return fmt.Sprintf("%s-%d", f.namespace, n) }

// template returns a template with a ConfigMap for each content, all with the same rules.
func (f *labFleet) template(rules []workv1.ConditionRule, contents ...data) workv1.ManifestWorkSpec {
	f.t.Helper()
	spec := workv1.ManifestWorkSpec{}
	for i, content := range contents {
		raw, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": f.object(i), "namespace": "default"}, "data": content,
		})
		require.NoError(f.t, err)
		manifest := workv1.Manifest{}
		manifest.Raw = raw
		spec.Workload.Manifests = append(spec.Workload.Manifests, manifest)
		spec.ManifestConfigs = append(spec.ManifestConfigs, workv1.ManifestConfigOption{
			ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: "default", Name: f.object(i)},
			ConditionRules:     rules,
		})
	}
	return spec
}

// begin creates the ManifestWorkReplicaSet and waits until every cluster has the first version.
func (f *labFleet) begin(strategy workv1alpha1.RolloutStrategy, template workv1.ManifestWorkSpec) {
	f.t.Helper()
	f.createOf(template, ref("p1", strategy))
	f.complete()
}

func (f *labFleet) roll(template workv1.ManifestWorkSpec) {
	f.t.Helper()
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.ManifestWorkTemplate = template })
}

// on the clusters

// content returns the content of a cluster's object; nil if there is no object.
func (f *labFleet) content(short string) data {
	f.t.Helper()
	found, err := f.agents[short].kube.CoreV1().ConfigMaps("default").Get(f.t.Context(), f.object(0), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(f.t, err)
	return found.Data
}

func (f *labFleet) deploys(short, version string) {
	f.t.Helper()
	eventually(f.t, short+" really has "+version, func() error {
		if content := f.content(short); content["version"] != version {
			return fmt.Errorf("it has %v", content)
		}
		return nil
	})
}

// change changes an object directly on a cluster, as an event on the cluster would. The hub is not involved.
func (f *labFleet) change(short string, n int, content data) {
	f.t.Helper()
	require.NoError(f.t, f.tryChange(short, n, content))
}

func (f *labFleet) tryChange(short string, n int, content data) error {
	objects := f.agents[short].kube.CoreV1().ConfigMaps("default")
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := objects.Get(f.t.Context(), f.object(n), metav1.GetOptions{})
		if err != nil {
			return err
		}
		for key, value := range content {
			object.Data[key] = value
		}
		_, err = objects.Update(f.t.Context(), object, metav1.UpdateOptions{})
		return err
	})
}

// reported waits until the hub has a report of a cluster's agent that meets all checks.
func (f *labFleet) reported(short, what string, words ...func(*workv1.ManifestWorkStatus) bool) {
	f.t.Helper()
	eventually(f.t, short+" reports "+what, func() error {
		work := f.work(short)
		if slices.ContainsFunc(words, func(says func(*workv1.ManifestWorkStatus) bool) bool { return !says(&work.Status) }) {
			return fmt.Errorf("it reports, at generation %d: %+v", work.Generation, work.Status.Conditions)
		}
		return nil
	})
}

// seems returns the checks for an agent's report about a revision that works.
func seems(generation int64) []func(*workv1.ManifestWorkStatus) bool {
	return []func(*workv1.ManifestWorkStatus) bool{
		is(workv1.WorkApplied, metav1.ConditionTrue, generation),
		is(workv1.WorkAvailable, metav1.ConditionTrue, generation),
		is(workv1.WorkProgressing, metav1.ConditionFalse, generation),
	}
}

// soon waits for a channel.
func soon(t *testing.T, what string, happens <-chan struct{}) {
	t.Helper()
	select {
	case <-happens:
	case <-time.After(patience):
		t.Fatalf("%s: not within %s", what, patience)
	}
}

// what never happened

// abortedTo requires the end of a failed rollout: every cluster has returned to the previous version, the failed version never counted as
// complete, and it reached only these clusters.
func (f *labFleet) abortedTo(version, failed string, reached []string) {
	f.t.Helper()
	mwrs := f.aborted()
	f.everywhere(version)
	require.Equal(f.t, f.hash(version), mwrs.Status.CurrentRevision)
	f.neverCurrent(failed)
	require.Equal(f.t, reached, f.reached(failed), "%s reached others", failed)
}

// neverCurrent fails if a version was ever the stable version.
func (f *fleet) neverCurrent(version string) {
	f.t.Helper()
	hash := f.hash(version)
	for _, seen := range f.w.history.seenOf(f) {
		require.NotEqual(f.t, hash, seen.current, "%s was complete at some time", version)
	}
}

// neverAborted fails if any rollout was aborted.
func (f *fleet) neverAborted() {
	f.t.Helper()
	for _, seen := range f.w.history.seenOf(f) {
		require.Empty(f.t, seen.aborted, "it was aborted at some time")
	}
}

// way is a strategy with which each quirk is tested.
type way struct {
	name string
	of   func(deadline string, maxFailures int, options ...strategyOption) workv1alpha1.RolloutStrategy
	// first are the clusters that a revision reaches before any cluster has succeeded.
	first []string
}

// underBoth runs a test with Progressive, where one cluster at a time gets a revision, and with All.
func underBoth(t *testing.T, test func(t *testing.T, way way)) {
	t.Parallel()
	oneByOne := func(deadline string, maxFailures int, options ...strategyOption) workv1alpha1.RolloutStrategy {
		return progressive(1, deadline, maxFailures, options...)
	}
	for _, way := range []way{{"Progressive", oneByOne, []string{"c1"}}, {"All", all, []string{"c1", "c2"}}} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			test(t, way)
		})
	}
}
