package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// handing is a fleet with pruneStrategy WhenAvailable. All versions have the same ConfigMap, and each version has its own workload. A
// workload is available once the test marks its Pods as ready.
type handing struct{ *labFleet }

// workload is "Deployment v1" or "StatefulSet v1": the kind, and the end of its name.
type workload struct{ kind, end string }

func newHanding(t *testing.T) *handing {
	t.Helper()
	shares(t)
	w, err := lab()
	require.NoError(t, err)
	return newHandingIn(w, t)
}

func newHandingIn(w *world, t *testing.T) *handing {
	t.Helper()
	return &handing{newLabFleetIn(w, t, labOptions{})}
}

func deployment(end string) workload { return workload{"Deployment", end} }

func (f *handing) workload(end string) string { return f.namespace + "-" + end }

// version returns a template with a workload. A star in its rules matches all workloads of that kind.
func (f *handing) version(version string, of workload) workv1.ManifestWorkSpec {
	f.t.Helper()
	spec := f.template(nil, data{"version": version})
	content := deploymentContent(version)
	if of.kind == "StatefulSet" {
		content["spec"].(map[string]any)["serviceName"] = "web"
	}
	content["apiVersion"], content["kind"] = "apps/v1", of.kind
	content["metadata"] = map[string]any{"name": f.workload(of.end), "namespace": "default"}
	raw, err := json.Marshal(content)
	require.NoError(f.t, err)
	manifest := workv1.Manifest{}
	manifest.Raw = raw
	spec.Workload.Manifests = append(spec.Workload.Manifests, manifest)
	spec.ManifestConfigs = append(spec.ManifestConfigs, workv1.ManifestConfigOption{
		ResourceIdentifier: workv1.ResourceIdentifier{Group: "apps", Resource: map[string]string{"Deployment": "deployments", "StatefulSet": "statefulsets"}[of.kind], Namespace: "*", Name: "*"},
		ConditionRules: []workv1.ConditionRule{
			rule(workv1.WorkProgressing, `!(has(object.status) && has(object.status.readyReplicas) && object.status.readyReplicas > 0)`),
		},
	})
	return spec
}

// begins creates the ManifestWorkReplicaSet and waits until every cluster has the first version.
func (f *handing) begins(template workv1.ManifestWorkSpec, of workload) {
	f.t.Helper()
	f.beginsBy(all("None", 0), template, of)
}

// beginsBy is begins with a strategy. The Placement may select only some of the clusters.
func (f *handing) beginsBy(strategy workv1alpha1.RolloutStrategy, template workv1.ManifestWorkSpec, of workload, selected ...string) {
	f.t.Helper()
	f.createSpec(workv1alpha1.ManifestWorkReplicaSetSpec{
		ManifestWorkTemplate: template, PruneStrategy: workv1alpha1.PruneWhenAvailable,
		PlacementRefs: []workv1alpha1.LocalPlacementReference{ref("p1", strategy)},
	})
	f.ready(of, selected...)
	f.complete()
}

// ready marks the Pods of a workload as ready on these clusters, or on all clusters. Nothing else on these clusters does that.
func (f *handing) ready(of workload, clusters ...string) {
	f.t.Helper()
	if len(clusters) == 0 {
		clusters = f.clusters
	}
	for _, short := range clusters {
		apps := f.agents[short].kube.AppsV1()
		eventually(f.t, short+" has "+of.end, func() error {
			return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
				if of.kind == "StatefulSet" {
					set, err := apps.StatefulSets("default").Get(f.t.Context(), f.workload(of.end), metav1.GetOptions{})
					if err != nil {
						return err
					}
					set.Status = appsv1.StatefulSetStatus{Replicas: 1, ReadyReplicas: 1}
					_, err = apps.StatefulSets("default").UpdateStatus(f.t.Context(), set, metav1.UpdateOptions{})
					return err
				}
				deployment, err := apps.Deployments("default").Get(f.t.Context(), f.workload(of.end), metav1.GetOptions{})
				if err != nil {
					return err
				}
				deployment.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1}
				_, err = apps.Deployments("default").UpdateStatus(f.t.Context(), deployment, metav1.UpdateOptions{})
				return err
			})
		})
	}
}

// uids returns the UIDs of this fleet's workloads on a cluster. The key is the kind and the end of the name, such as "Deployment v1".
func (f *handing) uids(short string) map[string]string {
	f.t.Helper()
	apps, found := f.agents[short].kube.AppsV1(), map[string]string{}
	for _, end := range []string{"v1", "v2", "v3", "web"} {
		if deployment, err := apps.Deployments("default").Get(f.t.Context(), f.workload(end), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			require.NoError(f.t, err)
			found["Deployment "+end] = string(deployment.UID)
		}
		if set, err := apps.StatefulSets("default").Get(f.t.Context(), f.workload(end), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			require.NoError(f.t, err)
			found["StatefulSet "+end] = string(set.UID)
		}
	}
	return found
}

// runs waits until each cluster has these workloads, and no others.
func (f *handing) runs(wanted ...string) {
	f.t.Helper()
	for _, short := range f.clusters {
		f.runsOn(short, wanted...)
	}
}

// runsOn waits until a cluster has these workloads, and no others.
func (f *handing) runsOn(short string, wanted ...string) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("%s has %v", short, wanted), func() error {
		if found := slices.Sorted(maps.Keys(f.uids(short))); !slices.Equal(found, wanted) {
			return fmt.Errorf("it has %v", found)
		}
		return nil
	})
}

// keeps requires that each cluster keeps the same workloads. Workloads that were just deleted may return meanwhile.
func (f *handing) keeps(deleted ...string) {
	f.t.Helper()
	before := map[string]map[string]string{}
	for _, short := range f.clusters {
		before[short] = f.uids(short)
	}
	always(f.t, "nothing goes", 6*time.Second, func() error {
		for _, short := range f.clusters {
			found := f.uids(short)
			unchanged := maps.Clone(found)
			maps.DeleteFunc(unchanged, func(workload, _ string) bool {
				return before[short][workload] == "" && slices.Contains(deleted, short+" "+workload)
			})
			if !maps.Equal(unchanged, before[short]) {
				return fmt.Errorf("%s had %v and has %v", short, before[short], found)
			}
		}
		return nil
	})
}

// The second revision is never available. The workload of the first revision serves until the third revision is available. The workload of
// the second revision is deleted as soon as the third revision arrives. The ConfigMap in all revisions is patched and never deleted.
func TestHandoverOfThreeRevisions(t *testing.T) {
	t.Parallel()
	f := newHanding(t)
	f.begins(f.version("v1", deployment("v1")), deployment("v1"))
	serving := f.uids("c1")["Deployment v1"]
	config, err := f.agents["c1"].kube.CoreV1().ConfigMaps("default").Get(t.Context(), f.object(0), metav1.GetOptions{})
	require.NoError(t, err)

	f.roll(f.version("v2", deployment("v2")))
	f.runs("Deployment v1", "Deployment v2")
	f.deploys("c1", "v2")
	f.keeps()

	f.roll(f.version("v3", deployment("v3")))
	f.runs("Deployment v1", "Deployment v3")
	f.deploys("c1", "v3")
	f.keeps()
	require.Equal(t, serving, f.uids("c1")["Deployment v1"], "it is the same one")

	f.ready(deployment("v3"))
	f.complete()
	f.runs("Deployment v3")
	after, err := f.agents["c1"].kube.CoreV1().ConfigMaps("default").Get(t.Context(), f.object(0), metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, config.UID, after.UID)
	for _, work := range f.works() {
		require.NotContains(t, work.Annotations, workv1alpha1.AnnotationKeptRevision)
		require.Len(t, work.Spec.Workload.Manifests, 2)
	}
	f.neverCurrent("v2")
}

// A StatefulSet replaces a Deployment of the same name: each has its own rules, and the Deployment serves until the StatefulSet does.
func TestHandoverToAnotherKind(t *testing.T) {
	t.Parallel()
	f := newHanding(t)
	f.begins(f.version("v1", deployment("web")), deployment("web"))
	f.roll(f.version("v2", workload{"StatefulSet", "web"}))
	f.runs("Deployment web", "StatefulSet web")
	f.keeps()
	f.ready(workload{"StatefulSet", "web"})
	f.complete()
	f.runs("StatefulSet web")
}

// A kept object that a user deletes, or that can no longer be applied, does not block the handover.
func TestHandoverOfWhatSomebodyChanged(t *testing.T) {
	t.Parallel()
	f := newHanding(t)
	f.begins(f.version("v1", deployment("v1")), deployment("v1"))
	other := f.takesName("c2")
	f.roll(f.version("v2", deployment("v2")))
	f.runs("Deployment v1", "Deployment v2")
	f.reported("c2", "that it can't apply all", is(workv1.WorkApplied, metav1.ConditionFalse, f.work("c2").Generation))
	f.deletesFirst("c1")
	f.keeps("c1 Deployment v1") // Its agent restores it.

	f.ready(deployment("v2"))
	f.complete()
	for _, work := range f.works() {
		require.Len(t, work.Spec.Workload.Manifests, 2, work.Namespace)
	}
	require.NotContains(t, f.uids("c1"), "Deployment v1")
	require.Equal(t, other, f.uids("c2")["Deployment v1"], "what somebody else made is left alone")
}

// takesName replaces the first version's workload on a cluster with a workload whose immutable selector differs. It returns the UID of the
// new workload.
func (f *handing) takesName(short string) string {
	f.t.Helper()
	f.deletesFirst(short)
	raw, err := json.Marshal(map[string]any{"spec": deploymentContent("v1")["spec"]})
	require.NoError(f.t, err)
	other := &appsv1.Deployment{}
	require.NoError(f.t, json.Unmarshal(raw, other))
	other.Name = f.workload("v1")
	other.Spec.Selector.MatchLabels, other.Spec.Template.Labels = map[string]string{"app": "other"}, map[string]string{"app": "other"}
	made, err := f.agents[short].kube.AppsV1().Deployments("default").Create(f.t.Context(), other, metav1.CreateOptions{})
	require.NoError(f.t, err)
	return string(made.UID)
}

// deletesFirst deletes the workload of the first version on a cluster, as a user would.
func (f *handing) deletesFirst(short string) {
	f.t.Helper()
	require.NoError(f.t, f.agents[short].kube.AppsV1().Deployments("default").Delete(f.t.Context(), f.workload("v1"), metav1.DeleteOptions{}))
}
