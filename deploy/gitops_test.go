package deploy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Deleting the CRD or the ClusterManager would delete every ManifestWorkReplicaSet of the hub, and the workloads, so no GitOps tool may
// delete them. It may delete the rest of deploy/.
func TestNoToolDeletesTheHub(t *testing.T) {
	objects, err := Render()
	require.NoError(t, err)
	for _, object := range objects {
		annotations := object.GetAnnotations()
		if kind := object.GetKind(); kind == "CustomResourceDefinition" || kind == "ClusterManager" {
			require.Equal(t, "Prune=false,Delete=false", annotations["argocd.argoproj.io/sync-options"], kind)
			require.Equal(t, "disabled", annotations["kustomize.toolkit.fluxcd.io/prune"], kind)
		} else {
			require.Empty(t, annotations, kind)
		}
	}
}
