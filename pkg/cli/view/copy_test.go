package view_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// If the CRD drops the ledger, the copy on a revision holds the hub's decisions. A ledger in the status stays as it is.
func TestFromCopy(t *testing.T) {
	at := now.Add(time.Minute)
	copied := ledger.Ledger{
		Format: ledger.Format, Owner: "uid", Seq: 3, Update: ledger.Named{Hash: hash("v2")}, Current: ledger.Named{Hash: hash("v1")},
		Abort: &revision.Abort{At: at, By: "alice", Said: "leaks memory"},
	}
	copied.SetTroubles([]ledger.Trouble{{Cluster: "c1", State: ledger.Failed, Placement: "p", Since: at, Reason: workv1alpha1.FailureDegraded}})
	foreign := copied.Clone()
	foreign.Owner = "other"
	for name, tc := range map[string]struct {
		copied *ledger.Ledger
		stored string
		fills  bool
	}{
		"a copy":                       {copied: &copied, fills: true},
		"the copy of another object":   {copied: &foreign},
		"no copy":                      {},
		"a status that has the ledger": {copied: &copied, stored: "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			o := objects(t)
			read := o.ReplicaSet
			read.Status = workv1alpha1.ManifestWorkReplicaSetStatus{Ledger: tc.stored, State: workv1alpha1.StateAborted}
			before := read.DeepCopy()
			if tc.copied != nil {
				text, err := tc.copied.Encode()
				require.NoError(t, err)
				o.Revisions[1].Annotations[workv1alpha1.AnnotationLedger] = text
			}
			o.FromCopy()
			require.Equal(t, before, read, "what was read is shared")
			if !tc.fills {
				require.Same(t, read, o.ReplicaSet)
				return
			}
			second := metav1.NewTime(at)
			require.Equal(t, workv1alpha1.ManifestWorkReplicaSetStatus{
				State: workv1alpha1.StateAborted, CurrentRevision: hash("v1"), UpdateRevision: hash("v2"),
				AbortedTime: &second, AbortedBy: "alice", AbortReason: "leaks memory",
				Failures: []workv1alpha1.ClusterFailure{{Cluster: "c1", Placement: "p", Since: second, Reason: workv1alpha1.FailureDegraded}},
			}, o.ReplicaSet.Status)
		})
	}
}

// A hub whose ledger the API server drops accepts no commands from the status. The plugin refuses an abort and a retry, and offers neither.
func TestNoCommandsWithoutALedger(t *testing.T) {
	o := objects(t)
	set := o.ReplicaSet
	set.Status.Failures = []workv1alpha1.ClusterFailure{{Cluster: "c1"}}
	require.NoError(t, view.Abortable(set))
	require.NoError(t, view.Retriable(set))

	set.Status.Conditions = []metav1.Condition{{
		Type: workv1alpha1.ConditionProgressing, Message: "hangs; the API server drops status.ledger: its CRD of ManifestWorkReplicaSet is not the one of this hub",
	}}
	const remedy = "the status has no ledger, so the hub accepts no commands from it: wait until the hub has written the ledger; if " +
		"the API server drops status.ledger, apply the CRD that came with the hub"
	require.EqualError(t, view.Abortable(set), `the rollout of "web" can't be aborted: `+remedy)
	require.EqualError(t, view.Retriable(set), `the rollout of "web" can't be retried: `+remedy)
	for _, offer := range view.Offers(o) {
		refused := offer.Verb == view.VerbAbort || offer.Verb == view.VerbRetry
		require.Equal(t, refused || offer.Verb == view.VerbResume, offer.Not != "", offer.Verb)
		if refused {
			require.Contains(t, offer.Not, remedy)
		}
	}
}
