package v1alpha1

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
)

// The value is that of `printf default/web | sha256sum | cut -c1-32`, as ocm#1684 computes it.
func TestOwnerHash(t *testing.T) {
	require.Equal(t, "82b3ade9d00cd1642a4d420e670d6cd9", OwnerHash("default", "web"))
	require.NotEqual(t, OwnerHash("a", "b.c"), OwnerHash("a.b", "c"))
}

// TestOwnerOf: the new label decides if the annotation confirms it, and the old label otherwise.
func TestOwnerOf(t *testing.T) {
	hash, long := OwnerHash("default", "web"), strings.Repeat("n", 60)
	controller := []metav1.OwnerReference{{Name: long, Controller: ptr.To(true)}}
	for name, test := range map[string]struct {
		object metav1.ObjectMeta
		want   string
	}{
		"nothing":           {},
		"the old label":     {metav1.ObjectMeta{Labels: map[string]string{LabelReplicaSet: "default.web.v1"}}, "default/web.v1"},
		"an unusable label": {metav1.ObjectMeta{Labels: map[string]string{LabelReplicaSet: "web"}}, ""},
		"the new pair": {metav1.ObjectMeta{
			Labels: map[string]string{LabelOwnerHash: hash}, Annotations: map[string]string{AnnotationOwner: "default/web"},
		}, "default/web"},
		"both": {metav1.ObjectMeta{
			Labels: map[string]string{LabelOwnerHash: hash, LabelReplicaSet: "default.web"}, Annotations: map[string]string{AnnotationOwner: "default/web"},
		}, "default/web"},
		"two owners": {metav1.ObjectMeta{
			Labels: map[string]string{LabelOwnerHash: hash, LabelReplicaSet: "default.other"}, Annotations: map[string]string{AnnotationOwner: "default/web"},
		}, "default/web"},
		"no annotation": {metav1.ObjectMeta{Labels: map[string]string{LabelOwnerHash: hash, LabelReplicaSet: "default.other"}}, "default/other"},
		"another's annotation": {metav1.ObjectMeta{
			Labels: map[string]string{LabelOwnerHash: hash}, Annotations: map[string]string{AnnotationOwner: "default/other"},
		}, ""},
		"only the annotation": {metav1.ObjectMeta{Annotations: map[string]string{AnnotationOwner: "default/web"}}, ""},
		"a revision of a long name": {metav1.ObjectMeta{
			Namespace: "default", Labels: map[string]string{LabelReplicaSet: RevisionLabelValue("default", long)}, OwnerReferences: controller,
		}, "default/" + long},
		"a revision of another": {metav1.ObjectMeta{
			Namespace: "other", Labels: map[string]string{LabelReplicaSet: RevisionLabelValue("default", long)}, OwnerReferences: controller,
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			namespace, ownerName, ok := OwnerOf(&test.object)
			require.Equal(t, test.want != "", ok)
			require.Equal(t, test.want, strings.Trim(namespace+"/"+ownerName, "/"))
			require.Equal(t, ok, IsOwner(namespace, ownerName, &test.object))
			require.False(t, IsOwner("default", "nobody", &test.object))
		})
	}
}

// TestLongNames: selectors and labels for long names are valid, and those for other names do not change.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("n", 60)
	require.Equal(t, "default.web", RevisionLabelValue("default", "web"))
	require.Equal(t, LabelReplicaSet+"=default.web", WorkSelector("default", "web"))
	require.Equal(t, OwnerHash("default", long), RevisionLabelValue("default", long))
	require.Empty(t, validation.IsValidLabelValue(RevisionLabelValue("default", long)))
	selector, err := labels.Parse(WorkSelector("default", long))
	require.NoError(t, err)
	require.True(t, selector.Matches(labels.Set{LabelOwnerHash: OwnerHash("default", long)}))
}
