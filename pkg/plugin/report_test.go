package plugin

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/view"
)

// TestDifference: the diff of a report masks Secrets and ignores the user's diff program.
func TestDifference(t *testing.T) {
	t.Setenv(externalDiff, "false")
	stored := func(number int64, password string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{Revision: number, Data: runtime.RawExtension{Raw: []byte(
			`{"spec":{"manifestWorkTemplate":{"workload":{"manifests":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},` +
				`"stringData":{"password":"` + password + `"}}]}}}}`)}}
	}
	objects := &view.Objects{
		ReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{},
		Revisions:  []*appsv1.ControllerRevision{stored(1, "hidden1"), stored(2, "hidden2")},
	}
	var out bytes.Buffer
	o := &options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}
	diff, none, err := o.difference(t.Context(), objects, []view.Revision{{Number: 2, Update: true}, {Number: 1, Current: true}})
	require.NoError(t, err)
	require.Empty(t, none)
	require.Contains(t, diff, "+  password: '*** (after)'")
	require.NotContains(t, diff, "hidden")
	require.Empty(t, out.String())
	_, none, err = o.difference(t.Context(), objects, []view.Revision{{Number: 3, Update: true}, {Number: 1, Current: true}})
	require.NoError(t, err)
	require.Contains(t, none, "there is no revision 3")
	_, none, err = o.difference(t.Context(), objects, []view.Revision{{Number: 1, Update: true, Current: true}})
	require.NoError(t, err)
	require.Contains(t, none, "is the current revision")
}
