package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The ManifestWorkReplicaSet of testdata/web.yaml.
const (
	namespace = "demo"
	name      = "web"
)

// web returns the ManifestWorkReplicaSet in a version that works or doesn't.
func web(t *testing.T, version string, works bool) *workv1alpha1.ManifestWorkReplicaSet {
	t.Helper()
	raw, err := os.ReadFile("testdata/web.yaml")
	require.NoError(t, err)
	text := strings.NewReplacer("${VERSION}", version, "${WORKS}", fmt.Sprint(works)).Replace(string(raw))
	mwrs := &workv1alpha1.ManifestWorkReplicaSet{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), mwrs))
	return mwrs
}

func (h *hub) create(t *testing.T, version string) {
	t.Helper()
	_, err := h.ReplicaSets.WorkV1alpha1().ManifestWorkReplicaSets(namespace).Create(t.Context(), web(t, version, true), metav1.CreateOptions{})
	require.NoError(t, err)
}

// update rolls a version out.
func (h *hub) update(t *testing.T, version string, works bool) {
	t.Helper()
	api := h.ReplicaSets.WorkV1alpha1().ManifestWorkReplicaSets(namespace)
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		mwrs, err := api.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		mwrs.Spec = web(t, version, works).Spec
		_, err = api.Update(t.Context(), mwrs, metav1.UpdateOptions{})
		return err
	}))
}

func (h *hub) get(ctx context.Context) (*workv1alpha1.ManifestWorkReplicaSet, error) {
	return h.ReplicaSets.WorkV1alpha1().ManifestWorkReplicaSets(namespace).Get(ctx, name, metav1.GetOptions{})
}

// reaches waits until Progressing has a reason for the current spec, and returns the object at that time.
func (h *hub) reaches(t *testing.T, reason string) *workv1alpha1.ManifestWorkReplicaSet {
	t.Helper()
	var seen *workv1alpha1.ManifestWorkReplicaSet
	eventually(t, "Progressing becomes "+reason, func() (err error) {
		if seen, err = h.get(t.Context()); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(seen.Status.Conditions, workv1alpha1.ConditionProgressing)
		switch {
		case condition == nil:
			return fmt.Errorf("there is no condition Progressing")
		case condition.ObservedGeneration != seen.Generation:
			return fmt.Errorf("Progressing is about generation %d, not %d", condition.ObservedGeneration, seen.Generation)
		case condition.Reason != reason:
			return fmt.Errorf("Progressing is %s: %s", condition.Reason, condition.Message)
		}
		return nil
	})
	return seen
}

// everywhere waits until each managed cluster has a version.
func (h *hub) everywhere(t *testing.T, version string) {
	t.Helper()
	for cluster, client := range h.Clusters {
		eventually(t, cluster+" has "+version, func() error {
			found, err := client.CoreV1().ConfigMaps(corev1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if found.Data["version"] != version {
				return fmt.Errorf("it has %s", found.Data["version"])
			}
			return nil
		})
	}
}

// revisions returns the revisions that the hub keeps, the oldest first.
func (h *hub) revisions(t *testing.T) []appsv1.ControllerRevision {
	t.Helper()
	list, err := h.Kube.AppsV1().ControllerRevisions(namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: workv1alpha1.LabelReplicaSet + "=" + workv1alpha1.OwnerLabelValue(namespace, name),
	})
	require.NoError(t, err)
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return list.Items
}

// versions returns the versions that the revisions record.
func (h *hub) versions(t *testing.T) []string {
	t.Helper()
	var versions []string
	for _, revision := range h.revisions(t) {
		var data struct {
			Spec struct {
				ManifestWorkTemplate workv1.ManifestWorkSpec `json:"manifestWorkTemplate"`
			} `json:"spec"`
		}
		require.NoError(t, json.Unmarshal(revision.Data.Raw, &data))
		config := &corev1.ConfigMap{}
		require.NoError(t, json.Unmarshal(data.Spec.ManifestWorkTemplate.Workload.Manifests[0].Raw, config))
		versions = append(versions, config.Data["version"])
	}
	return versions
}

// workGenerations returns the generations of the works, which show whether the spec of a work was written.
func (h *hub) workGenerations(t *testing.T) map[string]int64 {
	t.Helper()
	list, err := h.Works.WorkV1().ManifestWorks(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{
		LabelSelector: workv1alpha1.LabelReplicaSet + "=" + workv1alpha1.OwnerLabelValue(namespace, name),
	})
	require.NoError(t, err)
	generations := map[string]int64{}
	for i := range list.Items {
		generations[list.Items[i].Namespace] = list.Items[i].Generation
	}
	return generations
}

// gone returns nil for a NotFound error.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("it still exists, or:  %w", err)
}
