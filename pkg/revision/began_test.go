package revision

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// The last rollout of a revision began when it was created, reused or retried last.
func TestBegan(t *testing.T) {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(hours int) string { return created.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339Nano) }
	for name, test := range map[string]struct {
		annotations map[string]string
		hours       int
	}{
		"created":                 {nil, 0},
		"reused":                  {map[string]string{workv1alpha1.AnnotationReused: at(1)}, 1},
		"retried after the reuse": {map[string]string{workv1alpha1.AnnotationReused: at(1), workv1alpha1.AnnotationRetriedAt: at(2)}, 2},
		"reused after the retry":  {map[string]string{workv1alpha1.AnnotationReused: at(3), workv1alpha1.AnnotationRetriedAt: at(2)}, 3},
		"rebuilt since":           {map[string]string{workv1alpha1.AnnotationReused: at(-1)}, 0},
		"not a time":              {map[string]string{workv1alpha1.AnnotationReused: "soon"}, 0},
	} {
		r := &Revision{Object: &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
			CreationTimestamp: metav1.NewTime(created), Annotations: test.annotations,
		}}}
		require.Equal(t, created.Add(time.Duration(test.hours)*time.Hour), r.Began(), name)
	}
}
