package replicaset

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestListsArePaged(t *testing.T) {
	var asked []metav1.ListOptions
	names := []string{"a", "b", "c"}
	page := func(options metav1.ListOptions) (runtime.Object, error) {
		asked = append(asked, options)
		n := len(asked)
		list := &appsv1.ControllerRevisionList{Items: []appsv1.ControllerRevision{{ObjectMeta: metav1.ObjectMeta{Name: names[n-1]}}}}
		if n < len(names) {
			list.Continue = "next"
		}
		return list, nil
	}
	var found []string
	require.NoError(t, Each(t.Context(), metav1.ListOptions{}, page, func(object *appsv1.ControllerRevision) error {
		found = append(found, object.Name)
		return nil
	}))
	require.Equal(t, names, found)
	for i, options := range asked {
		require.EqualValues(t, PageSize, options.Limit)
		require.Equal(t, i > 0, options.Continue != "")
		require.Empty(t, options.ResourceVersion, "live, not from the API server's cache")
	}
}
