package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// abortByHand sets status.abortedTime, as kubectl does.
func (f *fleet) abortByHand() {
	f.t.Helper()
	patch := fmt.Sprintf(`{"status":{"abortedTime":%q}}`, time.Now().UTC().Format(time.RFC3339))
	_, err := f.w.replicaSets.WorkV1alpha1().ManifestWorkReplicaSets(f.namespace).Patch(f.t.Context(), f.name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: "a-person"}, "status")
	require.NoError(f.t, err)
}

// R12: a person aborts a rollout by setting status.abortedTime, whatever its strategy says; the reason names who did.
func TestAbortByHand(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 3, progressive(1, "None", 0))
	f.agentsReport("c2", "v2", hangs)
	f.update("v2")
	f.has("c2", "v2")
	f.abortByHand()
	mwrs := f.aborted()
	f.everywhere("v1")
	require.Equal(t, f.hash("v1"), mwrs.Status.CurrentRevision)
	const reason = "field manager a-person set status.abortedTime"
	require.Contains(t, message(mwrs, workv1alpha1.ConditionProgressing), reason)
	recorded := revision.RecordOf(f.revisionOf("v2")).Abort
	require.Equal(t, reason, recorded.Reason)
	require.NotZero(t, recorded.At)
	f.quiet()
	require.Equal(t, []string{"v1"}, f.sequence("c3"))
	f.tellsOf("RolloutAborted v2")
}

// tellsOf waits until there is an event.
func (f *fleet) tellsOf(wanted string) {
	f.t.Helper()
	eventually(f.t, "the event "+wanted, func() error {
		if told := f.told(); !slices.Contains(told, wanted) {
			return fmt.Errorf("told %v", told)
		}
		return nil
	})
}
