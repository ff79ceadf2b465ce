package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// lateLease returns a Lease that no hub has renewed for an hour.
func lateLease() *coordinationv1.Lease {
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("hub-1"), LeaseDurationSeconds: ptr.To(int32(60)), RenewTime: ptr.To(metav1.NewMicroTime(time.Now().Add(-time.Hour))),
	}}
}

// lists makes the hub list its object with its kind, as an API server does.
func (h *oneHub) lists(t *testing.T) {
	t.Helper()
	set := *h.set
	set.TypeMeta = metav1.TypeMeta{Kind: "ManifestWorkReplicaSet", APIVersion: workv1alpha1.SchemeGroupVersion.String()}
	item, err := json.Marshal(&set)
	require.NoError(t, err)
	h.list = fmt.Sprintf(`{"apiVersion":%q,"kind":"ManifestWorkReplicaSetList","metadata":{"resourceVersion":"5"},"items":[%s]}`,
		set.APIVersion, item)
}

// TestNoHubRuns: each command reports this first. If the user has no permission to read the Lease, the commands report nothing about the
// hub.
func TestNoHubRuns(t *testing.T) {
	h := newOneHub(t)
	h.set.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionProgressing, Message: "successfully progressed"}}
	h.lists(t)
	_, out, failed := h.run(t, "get", "web")
	require.NotContains(t, out+failed, "HUB")
	h.lease = lateLease()
	_, out, _ = h.run(t, "get", "web")
	require.True(t, strings.HasPrefix(out, "HUB      no hub is running: hub-1 has not renewed its lease for 1h0m0s\n         remedy: "), out)
	require.Contains(t, out, "before that: successfully progressed")
	_, _, failed = h.run(t, "list")
	require.Contains(t, failed, "no hub is running")
	_, _, failed = h.run(t, "status", "web")
	require.Contains(t, failed, "no hub is running")
	code, out, failed := h.run(t, "pause", "web")
	require.Zero(t, code, failed)
	require.Contains(t, out, "web pause requested\nThe hub writes to no cluster")
	require.Contains(t, failed, "no hub is running")
}

// TestRefusedHub: a hub that refuses to run is a failure, with the remedy.
func TestRefusedHub(t *testing.T) {
	h := newOneHub(t)
	h.set.Status.State = workv1alpha1.StateStalled
	h.set.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionStalled, Status: metav1.ConditionTrue,
		Reason: workv1alpha1.ReasonDowngradeRefused, Message: "this hub is 1.0.0"}}
	h.lists(t)
	code, out, _ := h.run(t, "doctor")
	require.Equal(t, 1, code)
	require.Regexp(t, `fail +downgrade +the hub refuses to run: this hub is 1\.0\.0; remedy: docs/upgrade\.md`, out)
	_, out, _ = h.run(t, "get", "web")
	require.True(t, strings.HasPrefix(out, "HUB      the hub refuses to run: this hub is 1.0.0\n"), out)
	_, _, failed := h.run(t, "list")
	require.Contains(t, failed, "the hub refuses to run")
}

// TestStatusOfAMissingPlacement: a rollout to no cluster is complete, and its line gives the reason.
func TestStatusOfAMissingPlacement(t *testing.T) {
	h := newOneHub(t)
	h.set.Status.State = workv1alpha1.StateComplete
	h.set.Status.Conditions = []metav1.Condition{
		{Type: workv1alpha1.ConditionProgressing, Message: "progressed"},
		{Type: workv1alpha1.ConditionPlacementVerified, Status: metav1.ConditionFalse, Message: `there is no Placement "p"`},
	}
	line, done, outcome := outcomeOf(h.set, &statusOptions{})
	require.Equal(t, `Complete: progressed; there is no Placement "p"`, line)
	require.True(t, done)
	require.NoError(t, outcome)
}

// TestUndoWaitsForItsRevision: `undo --wait` does not report the end of another rollout.
func TestUndoWaitsForItsRevision(t *testing.T) {
	h := newOneHub(t)
	digest, err := revision.DigestOf(templateWith("v1"))
	require.NoError(t, err)
	flags := &statusOptions{hash: h.revisions[0].Labels[workv1alpha1.LabelControllerHash], digest: digest}
	h.set.Spec.ManifestWorkTemplate = *templateWith("v1")
	line, done, outcome := outcomeOf(h.set, flags)
	require.Equal(t, "Waiting for the hub to begin the rollout of the restored revision...", line)
	require.False(t, done)
	require.NoError(t, outcome)

	h.set.Spec.ManifestWorkTemplate = *templateWith("v3")
	_, done, outcome = outcomeOf(h.set, flags)
	require.True(t, done)
	require.ErrorContains(t, outcome, "was changed after the undo")

	h.set.Status.UpdateRevision = flags.hash
	h.set.Status.State = workv1alpha1.StateComplete
	_, done, outcome = outcomeOf(h.set, flags)
	require.True(t, done)
	require.NoError(t, outcome)
}

// TestAbortWaits: `abort --wait` ends when the revision records that every cluster has confirmed the abort.
func TestAbortWaits(t *testing.T) {
	h := newOneHub(t)
	aborted := time.Now().Add(-time.Minute)
	h.set.Status.AbortedTime = ptr.To(metav1.NewTime(aborted))
	h.set.Status.State = workv1alpha1.StateAborted
	h.set.Status.CurrentRevision = h.revisions[0].Labels[workv1alpha1.LabelControllerHash]
	code, out, failed := h.run(t, "status", "web", "--wait-restored", "--timeout", "2s")
	require.Equal(t, exitTimeout, code, out+failed)
	revisiontest.Amend(&h.revisions[1], func(r *revision.Record) {
		r.Abort = &revision.Abort{At: aborted, Restored: aborted.Add(time.Second)}
	})
	code, out, failed = h.run(t, "status", "web", "--wait-restored")
	require.Zero(t, code, failed)
	require.Contains(t, out, "Restored: every cluster has confirmed revision 1")
}

// TestMessageAt80Columns: the message gets the space of the details, and loses its first parts before its end.
func TestMessageAt80Columns(t *testing.T) {
	o := &options{IOStreams: genericiooptions.IOStreams{}, now: time.Now, age: func(time.Duration) string { return "1m" }}
	table := o.clusterTable([]view.Cluster{{
		Name: "cluster01", State: view.StateRejected, Wrote: "1", WaitsFor: "Acceptance", Since: time.Now(), Then: rollout.PhaseFailed,
		Message: `admission webhook "images.example.com" denied the request: v2 is not signed`, ChangesAt: time.Now(),
	}}, false)
	var out bytes.Buffer
	table.write(newPrinter(&out, screen{width: 80}))
	require.Equal(t, "CLUSTER     STATE      SINCE   MESSAGE\n"+
		"cluster01   Rejected   1m      …v2 is not signed\n", out.String())
	require.Equal(t, "…end of it", tail("a long text without parts and the end of it", 10))
}
