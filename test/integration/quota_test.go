package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// limitRevisions gives the namespace a quota of revisions, and returns what changes it. No quota controller runs here: the test says how many are there.
func (f *fleet) limitRevisions(hard, used int64) (change func(hard int64)) {
	f.t.Helper()
	const counted = "count/controllerrevisions.apps"
	quotas := f.w.kube.CoreV1().ResourceQuotas(f.namespace)
	of := func(n int64) corev1.ResourceList {
		return corev1.ResourceList{counted: *resource.NewQuantity(n, resource.DecimalSI)}
	}
	quota, err := quotas.Create(f.t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "revisions"}, Spec: corev1.ResourceQuotaSpec{Hard: of(hard)},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	change = func(hard int64) {
		quota.Spec.Hard = of(hard)
		quota, err = quotas.Update(f.t.Context(), quota, metav1.UpdateOptions{})
		require.NoError(f.t, err)
		quota.Status = corev1.ResourceQuotaStatus{Hard: of(hard), Used: of(used)}
		quota, err = quotas.UpdateStatus(f.t.Context(), quota, metav1.UpdateOptions{})
		require.NoError(f.t, err)
	}
	change(hard)
	eventually(f.t, "the API server enforces the quota", func() error {
		_, err := f.w.kube.AppsV1().ControllerRevisions(f.namespace).Create(f.t.Context(),
			&appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Data: runtime.RawExtension{Raw: []byte("{}")}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "exceeded quota") {
			return fmt.Errorf("it answers: %w", err)
		}
		return nil
	})
	return change
}

// TestQuotaOfRevisions: where a quota is used up, a new template is not rolled out, and the condition has the API server's words. An undo needs no new
// revision. Once the quota has room the hub goes on by itself.
func TestQuotaOfRevisions(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 1, all("None", 0))
	f.update("v2")
	f.complete()
	change := f.limitRevisions(2, 2)
	f.update("v3")
	f.says(workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ReasonNotAsExpected,
		"ControllerRevision", "exceeded quota: revisions", "count/controllerrevisions.apps=2", "until then nothing new is rolled out")
	f.everywhere("v2")
	f.quiet()

	f.update("v1")
	f.complete()
	f.everywhere("v1")

	f.update("v3")
	f.says(workv1alpha1.ConditionManifestworkApplied, workv1alpha1.ReasonNotAsExpected, "exceeded quota: revisions")
	change(3)
	await.Eventually(t, 3*patience, "the rejected revision is created", func() error {
		if found := f.recorded(); !slices.Contains(found, "v3") {
			return fmt.Errorf("the revisions are %v", found)
		}
		return nil
	})
	f.complete()
	f.everywhere("v3")
}
