package revision

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestAge: which of two revisions was created first, even if one has returned, or both were created within a second.
func TestAge(t *testing.T) {
	day := time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)
	revision := func(created time.Time, annotations map[string]string) *Revision {
		return &Revision{Object: &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created), Annotations: annotations}}}
	}
	made := func(generation string) map[string]string {
		return map[string]string{workv1alpha1.AnnotationGeneration: generation}
	}
	returned := func(created, first time.Time) *Revision {
		r := revision(created, made("9"))
		r.FirstCreated = first
		return r
	}
	for name, tc := range map[string]struct {
		a, b                 *Revision
		aPrecedes, bPrecedes bool
	}{
		"a second apart":            {a: revision(day, nil), b: revision(day.Add(time.Second), made("1")), aPrecedes: true},
		"a clock that was set back": {a: revision(day.Add(time.Hour), made("1")), b: revision(day, made("2")), aPrecedes: true},
		"the same second":           {a: revision(day, made("1")), b: revision(day, made("2")), aPrecedes: true},
		"the same generation":       {a: revision(day, made("1")), b: revision(day, made("1")), aPrecedes: true, bPrecedes: true},
		"no generation":             {a: revision(day, made("one")), b: revision(day, nil), aPrecedes: true, bPrecedes: true},
		"returned":                  {a: returned(day.Add(time.Hour), day), b: revision(day.Add(time.Minute), made("2")), aPrecedes: true},
		"returned, the same second": {a: returned(day.Add(time.Hour), day.Add(1)), b: revision(day, made("2")), aPrecedes: true, bPrecedes: true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.aPrecedes, tc.a.Age().MayPrecede(tc.b.Age()))
			require.Equal(t, tc.bPrecedes, tc.b.Age().MayPrecede(tc.a.Age()))
		})
	}
}

// TestWasCurrent: also a revision that another hub rolled out past was the current one.
func TestWasCurrent(t *testing.T) {
	at := time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)
	require.True(t, (&Revision{Record: Record{CurrentSince: at}}).WasCurrent())
	require.True(t, (&Revision{Record: Record{Surpassed: at}}).WasCurrent())
	require.False(t, (&Revision{Record: Record{Abort: &Abort{At: at}}}).WasCurrent())
}
