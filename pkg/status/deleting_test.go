package status

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The message counts and names the clusters, and has the remedy.
func TestReleasingWorkloads(t *testing.T) {
	for name, test := range map[string]struct {
		progress Releasing
		want     string
	}{
		"agents that have not answered": {
			Releasing{Clusters: 10, Waiting: []string{"c3", "c9"}},
			"keeping the workloads: 8 of 10 clusters are done; waiting for the agents of 2 clusters (c3, c9) to release the applied resources; " +
				"to delete without waiting, set spec.preserveResourcesOnDeletion to false: the clusters that have not released their workloads lose them",
		},
		"one that can't, and one that was too late": {
			Releasing{
				Clusters: 3, Waiting: []string{"c1"}, TooLate: []string{"c2"},
				Unreleased: []string{"cluster c1, Deployment default/a: denied", "cluster c1, b: denied", "cluster c1, c: denied", "cluster c1, d: denied"},
				Problems:   []string{"1 ManifestWork can't be written"},
			},
			"keeping the workloads: 1 of 3 clusters are done; waiting for the agents of 1 cluster (c1) to release the applied resources; " +
				"cluster c1, Deployment default/a: denied; cluster c1, b: denied; cluster c1, c: denied; and 1 more; 1 ManifestWork can't be written; " +
				"not kept on 1 cluster (c2): the ManifestWork was being deleted before the agent released the workloads; " +
				"to delete without waiting, set spec.preserveResourcesOnDeletion to false: the clusters that have not released their workloads lose them",
		},
		"works that are leaving": {
			Releasing{Clusters: 1, Leaving: []string{"c1"}},
			"keeping the workloads: 1 of 1 cluster is done; waiting for the agents of 1 cluster (c1) to finish deleting their ManifestWorks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := ReleasingWorkloads(&test.progress)
			require.Equal(t, []any{workv1alpha1.ConditionDeleting, metav1.ConditionTrue, workv1alpha1.ReasonReleasingWorkloads, test.want},
				[]any{told.Type, told.Status, told.Reason, told.Message})
		})
	}
	require.Contains(t, PreservingNotSupported().Message, "set spec.preserveResourcesOnDeletion to false")
}

// Long messages from agents do not push out the remedy.
func TestReleasingWorkloadsWithLongWords(t *testing.T) {
	words := strings.Repeat("é", 16*1024)
	status, told := &workv1alpha1.ManifestWorkReplicaSetStatus{}, ReleasingWorkloads(&Releasing{
		Clusters: 3, Waiting: []string{"c1"}, Unreleased: []string{"cluster c1, a: " + words, "cluster c1, b: " + words, "cluster c1, c: " + words},
	})
	SetDeleting(status, &told, 3, metav1.Unix(5, 0))
	require.Contains(t, status.Conditions[0].Message, "cluster c1, c: é")
	require.Contains(t, status.Conditions[0].Message, "to delete without waiting, set spec.preserveResourcesOnDeletion to false: "+
		"the clusters that have not released their workloads lose them")
}
