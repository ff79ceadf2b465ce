package deploy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Deleting either would take every ManifestWorkReplicaSet of the hub, and the workloads: no GitOps tool does it by itself. The rest of
// deploy/ may go.
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
