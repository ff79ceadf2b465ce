package integration

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The gates of the hub.
const (
	onlyCollection = "--feature-gates=ManifestWorkReplicaSet=false,CleanUpCompletedManifestWork=true"
	bothGates      = "--feature-gates=ManifestWorkReplicaSet=true,CleanUpCompletedManifestWork=true"
)

// collectorRole has the permissions that the garbage collection requires, and none of those for ManifestWorkReplicaSets.
const collectorRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: collector}
rules:
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch]
- apiGroups: [work.open-cluster-management.io]
  resources: [manifestworks]
  verbs: [get, list, watch, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: collector}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: collector}
subjects: [{kind: User, name: collector}]
`

// OCM's garbage collection of completed works runs in this hub: alone, while ManifestWorkReplicaSets can't be read, and beside the
// ManifestWorkReplicaSets, whose works it does not collect.
func TestCompletedWorksAreCollected(t *testing.T) {
	t.Parallel()
	w := restartWorld(t, "completed")
	w.apply(t, collectorRole)
	user, err := w.plane.UserConfig("collector")
	require.NoError(t, err)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(kubeconfig, "hub", user))
	binary := hubBinary(t)

	t.Run("alone", func(t *testing.T) {
		w.startHub(t, binary, onlyCollection, "--kubeconfig="+kubeconfig)
		w.collects(t, "alone")
	})
	t.Run("without permission on Placements", func(t *testing.T) {
		w.startHub(t, binary, bothGates, "--kubeconfig="+kubeconfig)
		w.collects(t, "unpermitted")
	})
	t.Run("beside ManifestWorkReplicaSets", func(t *testing.T) {
		w.startHub(t, binary, bothGates, "--success-settle=400ms")
		plain := newFleetIn(w, t, 1)
		plain.place("p1", plain.clusters)
		plain.create("v1", ref("p1", all("60s", 0)))
		limited := *plain
		limited.name = "limited"
		limited.create("v1", ref("p1", all("60s", 0)))
		limited.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
			mwrs.Spec.ManifestWorkTemplate.DeleteOption = ttl(1)
		})
		plain.complete()
		limited.complete()
		plain.agentsReport("c1", "", silent) // The agent of both works.
		owned := map[string]types.UID{}
		for _, f := range []*fleet{plain, &limited} {
			work := f.work("c1")
			w.completes(t, work.Namespace, work.Name, time.Now().Add(-time.Hour))
			owned[work.Name] = work.UID
		}
		require.Equal(t, int64(1), *limited.work("c1").Spec.DeleteOption.TTLSecondsAfterFinished)

		w.collects(t, "beside")
		for _, f := range []*fleet{plain, &limited} {
			f.complete()
			work := f.work("c1")
			require.Equal(t, owned[work.Name], work.UID, "%s is its owner's", work.Name)
			require.Nil(t, work.DeletionTimestamp)
		}
	})
}

func ttl(seconds int64) *workv1.DeleteOption {
	return &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground, TTLSecondsAfterFinished: ptr.To(seconds)}
}

// collects creates works on a new cluster that no ManifestWorkReplicaSet owns. It waits until the works whose time to live after completion
// has passed are gone, and the others remain.
func (w *world) collects(t *testing.T, cluster string) {
	t.Helper()
	require.NoError(t, w.fleet.Namespace(t.Context(), cluster))
	w.agents.Set(cluster, "", silent)
	now := time.Now()
	for name, work := range map[string]struct {
		option    *workv1.DeleteOption
		completed time.Time
	}{
		"long-ago":    {ttl(60), now.Add(-time.Hour)},
		"at-once":     {ttl(0), now},
		"soon":        {ttl(2), now},
		"much-later":  {ttl(3600), now},
		"without-ttl": {nil, now.Add(-time.Hour)},
		"running":     {ttl(0), time.Time{}},
	} {
		object := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: template("v1")}
		object.Spec.DeleteOption = work.option
		_, err := w.works.WorkV1().ManifestWorks(cluster).Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err)
		if !work.completed.IsZero() {
			w.completes(t, cluster, name, work.completed)
		}
	}
	stay := []string{"much-later", "running", "without-ttl"}
	left := func() error {
		list, err := w.works.WorkV1().ManifestWorks(cluster).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		names := map[string]bool{}
		for i := range list.Items {
			names[list.Items[i].Name] = true
		}
		if found := slices.Sorted(maps.Keys(names)); !slices.Equal(found, stay) {
			return fmt.Errorf("there are %v", found)
		}
		return nil
	}
	eventually(t, "what completed is gone when its time has come", left)
	always(t, "nothing else goes", time.Second, left)
}

// completes marks a work as complete, as its agent does. If the work is already deleted, it does nothing.
func (w *world) completes(t *testing.T, cluster, name string, at time.Time) {
	t.Helper()
	works := w.works.WorkV1().ManifestWorks(cluster)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		work, err := works.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		// SetStatusCondition keeps the given time if the condition is new.
		meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{
			Type: workv1.WorkComplete, Status: metav1.ConditionTrue, Reason: "Simulated", ObservedGeneration: work.Generation,
			LastTransitionTime: metav1.NewTime(at),
		})
		_, err = works.UpdateStatus(t.Context(), work, metav1.UpdateOptions{})
		return err
	})
	if !apierrors.IsNotFound(err) {
		require.NoError(t, err)
	}
}

// startHub runs the hub as a process until the test ends.
func (w *world) startHub(t *testing.T, binary string, args ...string) {
	t.Helper()
	hub, err := sandbox.NewWorkHub(env.Group, binary, w.plane.APIServer, args...)
	require.NoError(t, err)
	require.NoError(t, hub.Start(t.Context()))
	t.Cleanup(func() { _ = hub.Kill() })
}
