package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// A work that was deleted since the cache showed it is looked for again; an API server that knows no works is another matter.
func TestPatchOfWhatIsGone(t *testing.T) {
	works := workv1.Resource("manifestworks")
	for name, test := range map[string]struct {
		answer            error
		conflict, lasting bool
	}{
		"the work is gone":    {answer: apierrors.NewNotFound(works, "web"), conflict: true},
		"works are not known": {answer: apierrors.NewGenericServerResponse(404, "patch", works, "web", "404 page not found", 0, true), lasting: true},
	} {
		t.Run(name, func(t *testing.T) {
			client := fakeWorks{patch: func(string, string) (*workv1.ManifestWork, error) { return nil, test.answer }}
			r := &deployReconciler{NewWithStores(Config{Works: client, Clock: clocktesting.NewFakeClock(time.Unix(1000, 0))}, NewStores())}
			object := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "web"}}
			_, err := r.patch(t.Context(), &pass{snapshot: &rollout.Snapshot{}}, &rollout.Write{
				Action: rollout.Relabel, Cluster: "c1", Work: &rollout.Work{Object: object},
			})
			require.Equal(t, test.conflict, apierrors.IsConflict(err), err)
			require.Equal(t, test.lasting, memory.IsLasting(err), err)
		})
	}
}
