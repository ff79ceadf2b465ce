package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
)

// leaseSeconds is the interval at which a cluster renews its Lease. OCM marks a cluster as unavailable after 5 times as
// long.
const leaseSeconds = 2

// managedFleet is a fleet of complete clusters with Pods. Its hub runs OCM's placement controller, and the controllers of OCM's
// registration that mark clusters as unavailable. Its Placement tolerates no taint.
type managedFleet struct {
	*fleet
	managed    map[string]*sandbox.ManagedCluster
	kube       map[string]kubernetes.Interface
	heartbeats map[string]func()
}

func newManagedFleet(t *testing.T, clusters ...string) *managedFleet {
	t.Helper()
	ctx := t.Context()
	w := privateWorld(t, "cutoff")
	f := &managedFleet{
		fleet:   &fleet{t: t, w: w, name: "web", namespace: "cutoff", clusters: clusters},
		managed: map[string]*sandbox.ManagedCluster{}, kube: map[string]kubernetes.Interface{}, heartbeats: map[string]func(){},
	}
	require.NoError(t, w.fleet.Namespace(ctx, f.namespace))
	require.NoError(t, w.fleet.Bind(ctx, f.namespace))
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Name: "p1"}}
	_, err := w.clusters.ClusterV1beta1().Placements(f.namespace).Create(ctx, placement, metav1.CreateOptions{})
	require.NoError(t, err)
	started, err := sandbox.StartManagedClusters(ctx, env, w.plane.APIServer, f.clusterNamespaces()...)
	require.NoError(t, err)
	for i, short := range clusters {
		f.add(short, started[i])
	}
	stopRegistration, err := sandbox.StartRegistration(w.config)
	require.NoError(t, err)
	t.Cleanup(stopRegistration)
	stopPlacement := sandbox.StartPlacement(w.config)
	t.Cleanup(func() { _ = stopPlacement() })
	t.Cleanup(w.startManager(context.WithoutCancel(ctx), controller.DefaultSuccessSettle))
	return f
}

// add makes a cluster join the hub.
func (f *managedFleet) add(short string, cluster *sandbox.ManagedCluster) {
	f.t.Helper()
	f.t.Cleanup(func() {
		f.cutOff(short)
		cluster.Node.Stop()
		_ = cluster.ControllerManager.Kill()
		_ = cluster.Stop()
	})
	kube, err := kubernetes.NewForConfig(cluster.RESTConfig())
	require.NoError(f.t, err)
	f.managed[short], f.kube[short] = cluster, kube
	require.NoError(f.t, f.w.fleet.Join(f.t.Context(), cluster.Name, cluster.Host()))
	patch := fmt.Appendf(nil, `{"spec":{"leaseDurationSeconds":%d}}`, leaseSeconds)
	_, err = f.w.clusters.ClusterV1().ManagedClusters().Patch(f.t.Context(), cluster.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(f.t, err)
	f.connect(short)
}

// cutOff ends the agents of a cluster. Its workloads continue.
func (f *managedFleet) cutOff(short string) {
	if stop := f.heartbeats[short]; stop != nil {
		stop()
		f.heartbeats[short] = nil
	}
	f.managed[short].Agent.Stop()
}

// connect starts the agents of a cluster.
func (f *managedFleet) connect(short string) {
	f.heartbeats[short] = f.w.fleet.Heartbeat(f.cluster(short))
	f.managed[short].Agent.Start()
}

// found waits until OCM's registration has marked a cluster as available or unavailable, and OCM's placement controller has updated its
// decisions.
func (f *managedFleet) found(short string, available bool) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("OCM finds %s available: %v", short, available), func() error {
		cluster, err := f.w.clusters.ClusterV1().ManagedClusters().Get(f.t.Context(), f.cluster(short), metav1.GetOptions{})
		if err != nil {
			return err
		}
		condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
		status, taints := metav1.ConditionTrue, []string{}
		if !available {
			status, taints = metav1.ConditionUnknown, []string{clusterv1.ManagedClusterTaintUnreachable}
		}
		var tainted []string
		for i := range cluster.Spec.Taints {
			tainted = append(tainted, cluster.Spec.Taints[i].Key)
		}
		selected, err := f.selected()
		switch {
		case err != nil:
			return err
		case condition.Status != status || !slices.Equal(tainted, taints) || slices.Contains(selected, f.cluster(short)) != available:
			return fmt.Errorf("it is %v with the taints %v, and selected are %v", condition, tainted, selected)
		}
		return nil
	})
}

// selected returns the clusters that OCM's placement controller selects.
func (f *managedFleet) selected() ([]string, error) {
	list, err := f.w.clusters.ClusterV1beta1().PlacementDecisions(f.namespace).List(f.t.Context(), metav1.ListOptions{})
	var names []string
	for i := range list.Items {
		for _, decision := range list.Items[i].Status.Decisions {
			names = append(names, decision.ClusterName)
		}
	}
	return names, err
}

// served returns the UIDs of the Deployment and of the Pods of an image on a cluster.
func (f *managedFleet) served(short, image string) []string {
	f.t.Helper()
	deployment, err := f.kube[short].AppsV1().Deployments("default").Get(f.t.Context(), "web", metav1.GetOptions{})
	require.NoError(f.t, err)
	pods, err := f.kube[short].CoreV1().Pods("default").List(f.t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	require.NoError(f.t, err)
	uids := []string{string(deployment.UID)}
	for i := range pods.Items {
		if pods.Items[i].Spec.Containers[0].Image == "registry.example.com/"+image {
			uids = append(uids, string(pods.Items[i].UID))
		}
	}
	slices.Sort(uids)
	return uids
}

// everyServed returns the UIDs from served for every cluster, and the UIDs of the ManifestWorks.
func (f *managedFleet) everyServed(image string) map[string][]string {
	f.t.Helper()
	all := map[string][]string{}
	for _, short := range f.clusters {
		work := f.work(short)
		require.Nil(f.t, work.DeletionTimestamp)
		all[short] = append(f.served(short, image), string(work.UID))
	}
	return all
}

// had returns the clusters that ever had an image: a Deployment keeps a ReplicaSet of each.
func (f *managedFleet) had(image string) []string {
	f.t.Helper()
	var found []string
	for _, short := range f.clusters {
		replicaSets, err := f.kube[short].AppsV1().ReplicaSets("default").List(f.t.Context(), metav1.ListOptions{})
		require.NoError(f.t, err)
		for i := range replicaSets.Items {
			if replicaSets.Items[i].Spec.Template.Spec.Containers[0].Image == "registry.example.com/"+image {
				found = append(found, short)
			}
		}
	}
	return found
}

// isAway waits until the hub reports a cluster as away, and checks how the plugin shows it.
func (f *managedFleet) isAway(short string) {
	f.t.Helper()
	eventually(f.t, short+" is away", func() error {
		if away := f.get().Status.Away; len(away) != 1 || away[0].Cluster != f.cluster(short) || away[0].Since == nil {
			return fmt.Errorf("away are %v; %s", away, describe(f.get()))
		}
		return nil
	})
	require.Contains(f.t, message(f.get(), workv1alpha1.ConditionManifestworkApplied), f.cluster(short)+" since ")
	require.Equal(f.t, f.cluster(short)+"\n", f.ok("clusters", f.name, "--state", "away", "-o", "name"))
	require.Contains(f.t, f.ok("why", f.name, f.cluster(short)), "Away")
	require.Contains(f.t, f.ok("get", f.name), "Away")
}

// isBack waits until no cluster is away.
func (f *managedFleet) isBack() {
	f.t.Helper()
	eventually(f.t, "no cluster is away", func() error {
		if len(f.get().Status.Away) > 0 {
			return errors.New(describe(f.get()))
		}
		return nil
	})
}

// TestClustersThatAreCutOffKeepTheirPods: OCM's own controllers mark a cluster as unavailable, taint it and drop it. Its work and its Pods
// stay. A revision that cuts off clusters one after the other is aborted after the first cluster.
func TestClustersThatAreCutOffKeepTheirPods(t *testing.T) {
	t.Parallel()
	f := newManagedFleet(t, "c1", "c2", "c3")
	f.createOf(deploymentOf("web", "registry.example.com/web:v1"), ref("p1", progressive(1, "35s", 0, abortAll)))
	f.complete()
	before, generations := f.everyServed("web:v1"), f.generations()

	// After the rollout: the cluster becomes unavailable, is dropped, and returns.
	f.cutOff("c1")
	f.found("c1", false)
	f.isAway("c1")
	always(t, "the hub leaves its work alone", 9*time.Second, func() error {
		if work := f.work("c1"); work.DeletionTimestamp != nil || work.Generation != generations["c1"] {
			return fmt.Errorf("it is at generation %d, deleted at %v", work.Generation, work.DeletionTimestamp)
		}
		return nil
	})
	f.connect("c1")
	f.found("c1", true)
	f.isBack()
	f.complete()
	require.Equal(t, before, f.everyServed("web:v1"))
	require.Equal(t, generations, f.generations())

	// During a rollout: no Pod of the image becomes ready, and the agents of the cluster end once it has the revision.
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.ManifestWorkTemplate = deploymentOf("web", "registry.example.com/broken:v2")
	})
	var first string
	eventually(t, "a cluster has the new revision", func() error {
		found := f.had("broken:v2")
		if len(found) == 0 {
			return errors.New("none has")
		}
		first = found[0]
		return nil
	})
	// The first report from an agent may be about the objects of the older revision. If it is the last report, the cluster counts as
	// successful.
	eventually(t, "its agent reports the new revision in progress", func() error {
		work := f.work(first)
		told := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkProgressing)
		if told == nil || told.Status != metav1.ConditionTrue || told.ObservedGeneration != work.Generation {
			return fmt.Errorf("at generation %d, it reports %v", work.Generation, told)
		}
		return nil
	})
	f.cutOff(first)
	f.found(first, false)
	require.Nil(t, f.get().Status.AbortedTime, "it is dropped before its deadline")
	f.isAway(first)
	f.aborted()
	f.confirmedBy("2 of 3 clusters")
	require.Contains(t, f.ok("get", f.name), "2 of 3 clusters confirmed revision 1")
	f.connect(first)
	f.found(first, true)
	f.isBack()
	f.confirmedBy("3 of 3 clusters")
	require.Equal(t, []string{first}, f.had("broken:v2"))
	require.Equal(t, before, f.everyServed("web:v1"))
}
