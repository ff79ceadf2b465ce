package controller

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The cache holds the template of a revision and little more, whatever tools left in its metadata.
func TestCachedRevisionHoldsWhatIsRead(t *testing.T) {
	template := strings.Repeat("t", 20_000)
	rev := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Name: "web-abc", Namespace: "default", Labels: map[string]string{workv1alpha1.LabelControllerHash: "abc"},
		Annotations: map[string]string{
			workv1alpha1.AnnotationRecord: "{}", corev1.LastAppliedConfigAnnotation: strings.Repeat("a", 20_000),
		},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: &metav1.FieldsV1{Raw: []byte(strings.Repeat("m", 20_000))}}},
	}}
	rev.Data.Raw = []byte(template)
	require.Greater(t, rev.Size(), 60_000)
	cached, err := NewRevisionTransform()(rev)
	require.NoError(t, err)
	require.Less(t, cached.(*appsv1.ControllerRevision).Size(), len(template)+500)
	require.Equal(t, "{}", rev.Annotations[workv1alpha1.AnnotationRecord])
	require.Equal(t, template, string(rev.Data.Raw))

	other, err := NewRevisionTransform()("tombstone")
	require.NoError(t, err)
	require.Equal(t, "tombstone", other)
}
