package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// A webhook removes the time of the write from each work. The cluster has the revision but makes no progress. The condition names the
// removed annotation, the work is not rewritten in every pass, and the deadline leads to an abort.
func TestWebhookThatTakesTheTimeOfTheWrite(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", progressive("p1", 1, "5m", 0, true))
	s.settle(Forever)
	s.API.Strip = []string{workv1alpha1.AnnotationAppliedAt}
	s.hangs("v2", "c1")
	s.settle(10 * time.Second)
	s.hold("c1 v2", "c2 v1")
	require.LessOrEqual(t, s.patchesIn(4*time.Minute), 6, "the wait grows to a minute")
	told := meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionProgressing)
	require.Contains(t, told.Message, workv1alpha1.AnnotationAppliedAt)
	s.settle(time.Hour)
	require.NotNil(t, s.Object().Status.AbortedTime, told.Message)
	s.hold("c1 v1", "c2 v1")
}
