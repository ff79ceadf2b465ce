package integration

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// found holds a fleet's objects on a cluster, by kind and number.
type found map[string]identity

type identity struct {
	uid        types.UID
	generation int64
	data       string
}

// there returns the fleet's objects on a cluster, and the objects that an agent owns.
func (f *labFleet) there(short string, objects int) (all found, owned []string) {
	f.t.Helper()
	all = found{}
	note := func(name string, meta metav1.ObjectMeta, data map[string]string) {
		all[name] = identity{meta.UID, meta.Generation, fmt.Sprint(data)}
		if len(meta.OwnerReferences) > 0 {
			owned = append(owned, name)
		}
	}
	for n := range objects {
		object, err := f.agents[short].kube.CoreV1().ConfigMaps("default").Get(f.t.Context(), f.object(n), metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			require.NoError(f.t, err)
			note(fmt.Sprint("configmap ", n), object.ObjectMeta, object.Data)
		}
	}
	deployment, err := f.agents[short].kube.AppsV1().Deployments("default").Get(f.t.Context(), f.object(0), metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		require.NoError(f.t, err)
		note("deployment", deployment.ObjectMeta, nil)
	}
	return all, owned
}

// manifest appends a manifest to a template.
func manifest(template *workv1.ManifestWorkSpec, object map[string]any) {
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err) // The test itself created the object.
	}
	m := workv1.Manifest{}
	m.Raw = raw
	template.Workload.Manifests = append(template.Workload.Manifests, m)
}

// make creates the ManifestWorkReplicaSet, whose workloads stay, and does not wait for its rollout.
func (f *labFleet) make(template workv1.ManifestWorkSpec) {
	f.t.Helper()
	preserve := true
	f.createSpec(workv1alpha1.ManifestWorkReplicaSetSpec{
		ManifestWorkTemplate: template, PreserveResourcesOnDeletion: &preserve,
		PlacementRefs: []workv1alpha1.LocalPlacementReference{ref("p1", all("None", 0))},
	})
}

// applied waits until the agents of all clusters have tried to apply all manifests.
func (f *labFleet) applied(manifests int) {
	f.t.Helper()
	for _, short := range f.clusters {
		eventually(f.t, short+" has tried everything", func() error {
			works := f.works()
			for i := range works {
				if works[i].Namespace == f.cluster(short) && len(works[i].Status.ResourceStatus.Manifests) == manifests &&
					is(workv1.WorkApplied, "", 1)(&works[i].Status) && is(workv1.WorkAvailable, "", 1)(&works[i].Status) {
					return nil
				}
			}
			return fmt.Errorf("the works are %v", f.versions())
		})
	}
}

// waitsFor waits for words in the message of the condition Deleting.
func (f *labFleet) waitsFor(words ...string) {
	f.t.Helper()
	eventually(f.t, "it says what it waits for", func() error {
		text := message(f.get(), workv1alpha1.ConditionDeleting)
		for _, word := range words {
			if !strings.Contains(text, word) {
				return fmt.Errorf("%q lacks %q", text, word)
			}
		}
		return nil
	})
}

// leavesAll deletes the ManifestWorkReplicaSet, and requires that all objects stay unchanged, and that no agent owns them any more.
func (f *labFleet) leavesAll(objects int) {
	f.t.Helper()
	before := map[string]found{}
	for _, short := range f.clusters {
		before[short], _ = f.there(short, objects)
		require.NotEmpty(f.t, before[short])
	}
	f.delete()
	f.gone()
	for _, short := range f.clusters {
		after, owned := f.there(short, objects)
		require.Equal(f.t, before[short], after, short)
		require.Empty(f.t, owned, short)
	}
}

// workload returns a template with a ConfigMap and a Deployment.
func (f *labFleet) workload() workv1.ManifestWorkSpec {
	template := f.template(rules(), healthy("v1"))
	manifest(&template, map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": f.object(0), "namespace": "default"},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": f.object(0)}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": f.object(0)}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "registry.example.com/web:v1"}}},
			},
		},
	})
	return template
}
