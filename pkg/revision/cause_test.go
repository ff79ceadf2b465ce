package revision_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// A shortened text is valid UTF-8 with at most the given number of bytes, and shortening it again changes nothing (P7).
func TestShortened(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"empty":                    {"", ""},
		"fits":                     {"12345678", "12345678"},
		"one byte too long":        {"123456789", "12345…"},
		"a character is cut":       {"1234ééé", "1234…"},
		"four bytes are cut":       {"123🙂🙂🙂", "123…"},
		"characters that fit":      {"éééé", "éééé"},
		"bytes that are no text":   {"ab\xffcd", "abcd"},
		"no text, and longer":      {"\xff\xfe\xfd\xfc\xfb12345678", "12345678"},
		"half a character, and on": {"12345\xf0\x9f6789", "12345…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := revision.Shortened(tc.text, 8)
			require.Equal(t, tc.want, got)
			require.LessOrEqual(t, len(got), 8)
			require.True(t, utf8.ValidString(got))
			require.Equal(t, got, revision.Shortened(got, 8))
		})
	}
}

// A long change cause leaves room for the other annotations of a revision.
func TestChangeCauseOf(t *testing.T) {
	owner := func(cause string) *workv1alpha1.ManifestWorkReplicaSet {
		return &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{workv1alpha1.AnnotationChangeCause: cause},
		}}
	}
	require.Empty(t, revision.ChangeCauseOf(&workv1alpha1.ManifestWorkReplicaSet{}))
	require.Equal(t, "image 1.2", revision.ChangeCauseOf(owner("image 1.2")))
	require.Len(t, revision.ChangeCauseOf(owner(strings.Repeat("c", 200_000))), 1024)
}

// TemplateManager returns the field manager that last wrote the template, if the API server reports it.
func TestTemplateManager(t *testing.T) {
	const template = `{"f:spec":{"f:manifestWorkTemplate":{"f:workload":{}}}}`
	entry := func(manager string, minute int, fields string) metav1.ManagedFieldsEntry {
		at := metav1.Date(2030, time.January, 1, 12, minute, 0, 0, time.UTC)
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &at, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}}
	}
	status := entry("work", 9, template)
	status.Subresource = "status"
	timeless := metav1.ManagedFieldsEntry{Manager: "old", FieldsV1: &metav1.FieldsV1{Raw: []byte(template)}}
	for name, tc := range map[string]struct {
		managed []metav1.ManagedFieldsEntry
		want    string
	}{
		"no managed fields":     {},
		"what can't be read":    {managed: []metav1.ManagedFieldsEntry{{Manager: "x"}, entry("y", 1, `{`)}},
		"one":                   {managed: []metav1.ManagedFieldsEntry{entry("kubectl-edit", 1, template)}, want: "kubectl-edit"},
		"the last one":          {managed: []metav1.ManagedFieldsEntry{entry("argocd", 2, template), entry("kubectl-edit", 1, template)}, want: "argocd"},
		"one without a time":    {managed: []metav1.ManagedFieldsEntry{timeless, entry("argocd", 2, template)}, want: "argocd"},
		"another field, later":  {managed: []metav1.ManagedFieldsEntry{entry("argocd", 2, template), entry("x", 3, `{"f:spec":{"f:paused":{}}}`)}, want: "argocd"},
		"the status is no part": {managed: []metav1.ManagedFieldsEntry{status}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, revision.TemplateManager(tc.managed)) })
	}
}
