package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// podFleet is a fleet of one cluster with the controllers of Deployments and ReplicaSets, and a simulated node.
type podFleet struct{ *labFleet }

func newPodFleet(t *testing.T) *podFleet {
	t.Helper()
	shares(t)
	planes, err := env.StartManagedClusters(t.Context(), true, "pods")
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = planes[0].ControllerManager.Kill()
		_ = planes[0].Stop()
	})
	node, err := sandbox.StartNode(t.Context(), planes[0].APIServer)
	require.NoError(t, err)
	t.Cleanup(node.Stop)
	w, err := lab()
	require.NoError(t, err)
	return &podFleet{newLabFleetOn(planes, w, t, labOptions{})}
}

// deploymentOf returns a template with a Deployment of two Pods. The node can't pull an image whose name has the word "broken".
func deploymentOf(name, image string) workv1.ManifestWorkSpec {
	spec := workv1.ManifestWorkSpec{}
	manifest(&spec, map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": "default"},
		"spec": map[string]any{
			"replicas": 2, "selector": map[string]any{"matchLabels": map[string]any{"app": name}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": name}},
				"spec":     map[string]any{"nodeName": sandbox.NodeName, "containers": []any{map[string]any{"name": "web", "image": image}}},
			},
		},
	})
	spec.ManifestConfigs = []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Group: "apps", Resource: "deployments", Namespace: "default", Name: "*"},
		ConditionRules: []workv1.ConditionRule{
			rule(workv1.WorkProgressing, `!(has(object.status) && has(object.status.observedGeneration)
				&& object.status.observedGeneration == object.metadata.generation
				&& has(object.status.updatedReplicas) && object.status.updatedReplicas == object.spec.replicas
				&& has(object.status.readyReplicas) && object.status.readyReplicas == object.spec.replicas)`),
		},
	}}
	return spec
}

// pods returns the ready Pods by name, each with a value that changes when the Pod restarts.
func (f *podFleet) pods(of string) map[string]string {
	f.t.Helper()
	list, err := f.agents["c1"].kube.CoreV1().Pods("default").List(f.t.Context(), metav1.ListOptions{LabelSelector: "app=" + of})
	require.NoError(f.t, err)
	found := map[string]string{}
	for i := range list.Items {
		for _, container := range list.Items[i].Status.ContainerStatuses {
			if container.Ready {
				started := container.State.Running.StartedAt
				found[list.Items[i].Name] = fmt.Sprintf("%s restarted %d times, started at %s", list.Items[i].UID, container.RestartCount, started.UTC())
			}
		}
	}
	return found
}

// runs waits until this number of Pods is ready.
func (f *podFleet) runs(of string, number int) map[string]string {
	f.t.Helper()
	var found map[string]string
	eventually(f.t, fmt.Sprintf("%d Pods of %s are ready", number, of), func() error {
		if found = f.pods(of); len(found) != number {
			return fmt.Errorf("it has %v", found)
		}
		return nil
	})
	return found
}

// No Pod restarts while its ManifestWorkReplicaSet is deleted and created again.
func TestPodsThroughDeletionAndCreation(t *testing.T) {
	t.Parallel()
	f := newPodFleet(t)
	f.make(deploymentOf("web", "registry.example.com/web:v1"))
	f.complete()
	before := f.runs("web", 2)

	f.delete()
	f.gone()
	require.Equal(t, before, f.pods("web"))
	f.make(deploymentOf("web", "registry.example.com/web:v1"))
	f.complete()
	require.Equal(t, before, f.pods("web"))

	// After the takeover, rollouts continue: a broken version under another name, and its abort, do not affect the serving Pods (P10).
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.PruneStrategy = workv1alpha1.PruneWhenAvailable
		mwrs.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref("p1", all("60s", 0, abortAll))}
		mwrs.Spec.ManifestWorkTemplate = deploymentOf("next", "registry.example.com/broken:v2")
	})
	f.reported("c1", "the broken version", is(workv1.WorkApplied, metav1.ConditionTrue, 2), is(workv1.WorkProgressing, metav1.ConditionTrue, 2))
	require.Equal(t, before, f.pods("web"))
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref("p1", all("1s", 0, abortAll))}
	})
	f.aborted()
	require.Equal(t, before, f.pods("web"))

	// A version that works takes over, and the old Pods are deleted once it serves.
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref("p1", all("60s", 0, abortAll))}
		mwrs.Spec.ManifestWorkTemplate = deploymentOf("next", "registry.example.com/web:v3")
	})
	f.complete()
	require.Empty(t, f.runs("web", 0))
	f.runs("next", 2)
}
