package scenario

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// An abort counts once, however often it is seen, and one of before that a status still holds does not count.
func TestAborts(t *testing.T) {
	began := time.Unix(1000, 0)
	seen := []sighting{}
	see := func(seconds int, aborted int64) {
		object := &workv1alpha1.ManifestWorkReplicaSet{}
		if aborted != 0 {
			object.Status.AbortedTime = &metav1.Time{Time: time.Unix(aborted, 0)}
		}
		seen = append(seen, sighting{began.Add(time.Duration(seconds) * time.Second), object})
	}
	o := &objects{seen: map[string][]sighting{}}
	count := func() int {
		o.seen["web"] = seen
		return o.aborts("web", began)
	}
	require.Zero(t, count())
	see(-2, 900)
	see(1, 900)
	require.Zero(t, count(), "it was aborted before")
	see(2, 0)
	require.Zero(t, count())
	see(3, 1003)
	see(4, 1003)
	require.Equal(t, 1, count())
	see(5, 0)
	see(6, 1006)
	require.Equal(t, 2, count())
}
