package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
)

// realFleet is a fleet whose clusters have their own API servers and OCM's work agents. OCM's placement controller makes its decisions.
type realFleet struct {
	*fleet
	agents map[string]*sandbox.Agent
	// taps are the taps on the agents' connections to the hub.
	taps map[string]*tap
	kube map[string]kubernetes.Interface
}

func newRealFleet(t *testing.T, name string) *realFleet {
	t.Helper()
	f := newRealClusters(t, name)
	t.Cleanup(f.w.startManager(context.WithoutCancel(t.Context()), controller.DefaultSuccessSettle))
	return f
}

// newRealClusters returns a fleet whose hub has no work manager yet. customise changes the connections of its agents.
func newRealClusters(t *testing.T, name string, customise ...func(*sandbox.AgentOptions)) *realFleet {
	t.Helper()
	ctx := t.Context()
	w := privateWorld(t, name)
	f := &realFleet{
		fleet:  &fleet{t: t, w: w, name: "web", namespace: name, clusters: []string{"c1", "c2"}},
		agents: map[string]*sandbox.Agent{}, taps: map[string]*tap{}, kube: map[string]kubernetes.Interface{},
	}
	planes, err := env.StartManagedClusters(ctx, false, f.clusterNamespaces()...)
	require.NoError(t, err)
	require.NoError(t, w.fleet.Namespace(ctx, f.namespace))
	require.NoError(t, w.fleet.Bind(ctx, f.namespace))
	require.NoError(t, w.fleet.Place(ctx, f.namespace, "p1"))
	for i, short := range f.clusters {
		plane := planes[i]
		t.Cleanup(func() { _ = plane.Stop() })
		f.kube[short], err = kubernetes.NewForConfig(plane.RESTConfig())
		require.NoError(t, err)
		require.NoError(t, w.fleet.Join(ctx, plane.Name, plane.Host()))
		f.taps[short] = &tap{}
		options := sandbox.AgentOptions{
			Cluster: plane.Name, HubKubeconfig: tappedKubeconfig(t, w, f.taps[short]), Managed: plane.RESTConfig(), StatusSyncInterval: time.Second,
		}
		for _, change := range customise {
			change(&options)
		}
		agent, err := sandbox.NewAgent(options)
		require.NoError(t, err)
		f.agents[short] = agent
		agent.Start()
		t.Cleanup(agent.Stop)
	}
	stopPlacement := sandbox.StartPlacement(w.config)
	t.Cleanup(func() { _ = stopPlacement() })
	return f
}

// realTemplate returns a template with a ConfigMap whose content determines whether the agent reports success.
func realTemplate(version string, works bool) workv1.ManifestWorkSpec {
	spec := template(version)
	spec.Workload.Manifests[0].Raw = fmt.Appendf(nil,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"demo","namespace":"default"},"data":{"version":%q,"works":"%v"}}`, version, works)
	for i, rule := range spec.ManifestConfigs[0].ConditionRules {
		rule.CelExpressions = []string{`object.data.works == "false"`}
		spec.ManifestConfigs[0].ConditionRules[i] = rule
	}
	return spec
}

// creates creates the ManifestWorkReplicaSet of a real fleet at v1, and waits until its rollout is complete.
func (f *realFleet) creates(refs ...workv1alpha1.LocalPlacementReference) {
	f.t.Helper()
	f.createOf(realTemplate("v1", true), refs...)
	f.complete()
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
}

func (f *realFleet) roll(version string, works bool) {
	f.t.Helper()
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.ManifestWorkTemplate = realTemplate(version, works)
	})
}

// deployed returns the version that a cluster really has; empty for none.
func (f *realFleet) deployed(short string) string {
	f.t.Helper()
	found, err := f.kube[short].CoreV1().ConfigMaps("default").Get(f.t.Context(), "demo", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	require.NoError(f.t, err)
	return found.Data["version"]
}

func (f *realFleet) deploys(versions map[string]string) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("the clusters have %v", versions), func() error {
		for short, version := range versions {
			if found := f.deployed(short); found != version {
				return fmt.Errorf("%s has %q", short, found)
			}
		}
		return nil
	})
}

// The whole story with OCM's own agents and placement controller.
func TestRealAgentsAndPlacement(t *testing.T) {
	t.Parallel()
	f := newRealFleet(t, "real")
	f.creates(ref("p1", progressive(1, "8s", 0, abortAll)))

	// A broken version reaches one cluster, and is rolled back.
	f.roll("v2", false)
	f.aborted()
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
	require.Len(t, f.reached("v2"), 1)
	f.confirmedBy("2 of 2 clusters")
	f.quiet()

	// A good version completes, and is undone.
	f.roll("v3", true)
	f.complete()
	f.deploys(map[string]string{"c1": "v3", "c2": "v3"})
	f.roll("v1", true)
	f.complete()
	f.deploys(map[string]string{"c1": "v1", "c2": "v1"})
	require.Equal(t, []string{"v2", "v3", "v1"}, f.recorded())

	// An agent is offline until its deadline. When it returns, it gets the same version as the other clusters, and never saw the aborted
	// version.
	f.agents["c2"].Stop()
	f.roll("v4", true)
	f.deploys(map[string]string{"c1": "v4"})
	f.aborted()
	f.everywhere("v1")
	f.deploys(map[string]string{"c1": "v1"})
	f.agents["c2"].Start()
	f.confirmedBy("2 of 2 clusters") // including the agent that returned
	require.Equal(t, "v1", f.deployed("c2"))
	f.quiet()

	// An agent is offline during a rollout that waits, and gets the new version when it returns.
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.PlacementRefs[0].RolloutStrategy = progressive(1, "8s", 0)
	})
	f.agents["c1"].Stop()
	f.roll("v5", true)
	f.stalled()
	require.Equal(t, "v1", f.deployed("c1"))
	f.agents["c1"].Start()
	f.complete()
	f.deploys(map[string]string{"c1": "v5", "c2": "v5"})
	f.quiet()

	f.delete()
	f.gone()
	f.deploys(map[string]string{"c1": "", "c2": ""})
}
