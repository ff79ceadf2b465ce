package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// retryFromGit sets the annotation that asks for a retry, as a commit would.
func (f *fleet) retryFromGit(at time.Time) {
	f.t.Helper()
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Annotations = map[string]string{workv1alpha1.AnnotationRetry: at.UTC().Format(time.RFC3339)}
	})
}

// TestRetryFromGit: the annotation retries an aborted rollout once. A new value retries it again.
func TestRetryFromGit(t *testing.T) {
	t.Parallel()
	f := rolledOut(t, 2, all("3s", 0, abortAll))
	f.agentsReport("", "v2", hangs)
	f.update("v2")
	f.aborted()
	f.everywhere("v1")

	first := time.Now()
	f.retryFromGit(first)
	f.tellsOf("RolloutStarted v2")
	eventually(t, "the revision records the retry", func() error {
		at := revision.RecordOf(f.revisionOf("v2")).Retried
		if at.Before(first) {
			return fmt.Errorf("retried at %s", at)
		}
		return nil
	})
	eventually(t, "the retry is aborted", func() error {
		if at := f.get().Status.AbortedTime; at == nil || !at.After(first) {
			return fmt.Errorf("aborted at %s", at)
		}
		return nil
	})
	f.aborted()
	f.everywhere("v1")
	f.quiet()
	require.Equal(t, []string{"v1", "v2", "v1", "v2", "v1"}, f.sequence("c1"), "the value is acted on once")

	f.agentsReport("", "v2", succeeds)
	f.retryFromGit(time.Now())
	f.everywhere("v2")
	f.complete()
	require.Nil(t, f.get().Status.AbortedTime)
}
