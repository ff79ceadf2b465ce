package plugin

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// TestDifference: the diff of a report masks Secrets and ignores the user's diff program.
func TestDifference(t *testing.T) {
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}}
	stored := func(number int64, password string) *appsv1.ControllerRevision {
		template := templateOfObject(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"password":"` + password + `"}}`)
		made, err := revision.New(set, template, revision.ComputeHash(template, nil), number)
		require.NoError(t, err)
		return made
	}
	objects := &view.Objects{
		ReplicaSet: set,
		Revisions:  []*appsv1.ControllerRevision{stored(1, "hidden1"), stored(2, "hidden2")},
	}
	diff, none, err := difference(objects, []view.Revision{{Number: 2, Update: true}, {Number: 1, Current: true}})
	require.NoError(t, err)
	require.Empty(t, none)
	require.Contains(t, diff, "+  password: '*** (after)'")
	require.NotContains(t, diff, "hidden")
	_, none, err = difference(objects, []view.Revision{{Number: 3, Update: true}, {Number: 1, Current: true}})
	require.NoError(t, err)
	require.Contains(t, none, "there is no revision 3")
	_, none, err = difference(objects, []view.Revision{{Number: 1, Update: true, Current: true}})
	require.NoError(t, err)
	require.Contains(t, none, "is the current revision")
}
