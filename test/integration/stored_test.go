package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// R1, R10: a null in a manifest reaches every cluster as it was written, even if a work is patched.
func TestNullsInManifestsAreStoredAsWritten(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, progressive(1, "20s", 0))
	for _, version := range []string{"v2", "v3"} {
		wanted := template(version)
		if version == "v2" {
			wanted.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
		}
		wanted.Workload.Manifests = append(wanted.Workload.Manifests, workv1.Manifest{})
		wanted.Workload.Manifests[1].Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"nulls","namespace":"default","creationTimestamp":null,` +
			`"annotations":null},"data":null,"list":[null,{"version":"` + version + `","null":null}]}`)
		f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.ManifestWorkTemplate = wanted })
		f.everywhere(version)
		f.state("AsExpected=True", "AsExpected=True", "NewManifestWorkAvailable=False", "Complete=True")
		for _, cluster := range f.clusters {
			require.Empty(t, revision.FirstDifference(&f.get().Spec.ManifestWorkTemplate, &f.work(cluster).Spec))
			require.Contains(t, string(f.work(cluster).Spec.Workload.Manifests[1].Raw), `"null":null`)
		}
	}
	f.quiet()
	require.Equal(t, map[string]int64{"c1": 3, "c2": 3}, f.generations())

	// The API server uses the resource version in a JSON patch as the version that the patch is based on.
	work := f.work("c1")
	for _, uid := range []types.UID{work.UID, "other"} {
		patch := fmt.Sprintf(`[{"op":"add","path":"/metadata/uid","value":%q},{"op":"add","path":"/metadata/resourceVersion","value":"1"}]`, uid)
		_, err := f.w.works.WorkV1().ManifestWorks(work.Namespace).Patch(t.Context(), work.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
		require.True(t, apierrors.IsConflict(err), "%s: %v", uid, err)
	}
}
