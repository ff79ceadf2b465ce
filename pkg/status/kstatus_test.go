package status_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	ours "github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// computed returns the status of an object according to kstatus, which Flux and Helm use, and its message.
func computed(t *testing.T, object *workv1alpha1.ManifestWorkReplicaSet) (status.Status, string) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(t, err)
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	require.NoError(t, err)
	return result.Status, result.Message
}

// built returns the object of an input with the status that is built from the input.
func built(in *ours.Input) *workv1alpha1.ManifestWorkReplicaSet {
	object := in.Object.DeepCopy()
	object.Status = build(in)
	return object
}

func pending(in *ours.Input) *ours.Input {
	in.Pending = true
	in.Object.Status.ObservedGeneration = 6
	return in
}

// TestKstatus computes the status for GitOps tools at each stage (in progress, failed or current) and the reason.
func TestKstatus(t *testing.T) {
	two := rt.Clusters("c1", "c2")
	for name, tc := range map[string]struct {
		in   *ours.Input
		want status.Status
		// abnormal is the expected condition and its reason. says is the message that kstatus passes on.
		abnormal, says string
	}{
		"rolling out a found revision": {
			in:       input(ours.RollingOut, p1(two), rt.Works(done("c1"), old("c2")), rt.Updating(rt.Revision("bbb", rt.ReusedAt(minute)))),
			want:     status.InProgressStatus,
			abnormal: "Reconciling FoundNewRevision",
		},
		"stalled": {
			in:       input(ours.Stalled, p1(two), rt.Works(failed("c1"), old("c2"))),
			want:     status.FailedStatus,
			abnormal: "Stalled ProgressDeadlineExceeded", says: "1 cluster (c1)",
		},
		"abort decided": {
			in:       because(input(ours.Aborting, rt.Aborted(), p1(two), rt.Works(failed("c1"), old("c2"))), "c1 failed"),
			want:     status.InProgressStatus,
			abnormal: "Reconciling ProgressDeadlineExceeded", says: "c1 failed",
		},
		"a new template waits for the abort": {
			in:       pending(input(ours.Aborting, rt.Aborted(), p1(two), rt.Works(failed("c1"), old("c2")))),
			want:     status.InProgressStatus,
			abnormal: "Reconciling ProgressDeadlineExceeded",
		},
		"a new template is next after the abort": {
			in:       pending(input(ours.Aborted, rt.Aborted(), p1(two), rt.Works(old("c1"), old("c2")))),
			want:     status.InProgressStatus,
			abnormal: "Reconciling RolloutAborted",
		},
		"a strategy can't be read": {
			in:       input(ours.RollingOut, p1(two, rt.Deadline("5 minutes")), rt.Works(done("c1"))),
			want:     status.FailedStatus,
			abnormal: "Stalled NotAsExpected", says: "spec.placementRefs[0].rolloutStrategy.progressive.progressDeadline",
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := built(tc.in)
			got, message := computed(t, object)
			require.Equal(t, tc.want, got, message)
			require.Equal(t, tc.abnormal, abnormals(object))
			if !tc.in.Pending {
				require.Contains(t, message, tc.says)
				require.EqualValues(t, 7, object.Status.ObservedGeneration)
			} else {
				require.EqualValues(t, 6, object.Status.ObservedGeneration)
				require.Contains(t, message, "latest observed generation is 6")
			}
			stable(t, tc.in, object.Status)
		})
	}
}

// abnormals returns the conditions that exist only in an abnormal state, and their reasons.
func abnormals(object *workv1alpha1.ManifestWorkReplicaSet) string {
	var found []string
	for _, conditionType := range []string{workv1alpha1.ConditionReconciling, workv1alpha1.ConditionStalled} {
		if c := meta.FindStatusCondition(object.Status.Conditions, conditionType); c != nil {
			found = append(found, c.Type+" "+c.Reason)
		}
	}
	return strings.Join(found, ", ")
}

// TestAbnormalConditionsGo: the status of the next stage removes each abnormal condition, and does not change other conditions.
func TestAbnormalConditionsGo(t *testing.T) {
	two := rt.Clusters("c1", "c2")
	object := built(input(ours.RollingOut, p1(two), rt.Works(inFlight("c1"), old("c2"))))
	for _, next := range []struct {
		in   *ours.Input
		want string
	}{
		{input(ours.Stalled, p1(two), rt.Works(failed("c1"), old("c2"))), "Stalled ProgressDeadlineExceeded"},
		{input(ours.RollingOut, p1(two), rt.Works(done("c1"), inFlight("c2"))), "Reconciling NewRevisionCreated"},
		{input(ours.Aborting, rt.Aborted(), p1(two), rt.Works(failed("c1"), old("c2"))), "Reconciling ProgressDeadlineExceeded"},
		{input(ours.Aborted, rt.Aborted(), p1(two), rt.Works(old("c1"), old("c2"))), "Stalled RolloutAborted"},
		{input(ours.Complete, rt.Rolling("bbb", "bbb"), p1(two), rt.Works(done("c1"), done("c2"))), ""},
	} {
		next.in.Object.Status = object.Status
		object = built(next.in)
		require.Equal(t, next.want, abnormals(object))
	}
	require.Len(t, object.Status.Conditions, 4)
}

// TestHold: the status of a template that is not rolled out.
func TestHold(t *testing.T) {
	two := rt.Clusters("c1", "c2")
	rolling := built(input(ours.RollingOut, p1(two), rt.Works(inFlight("c1"), old("c2"))))
	for name, tc := range map[string]struct {
		applied  metav1.Condition
		pending  bool
		want     status.Status
		abnormal string
		observed int64
	}{
		"an invalid spec": {
			applied: ours.InvalidSpec("spec.x: use y"), want: status.FailedStatus, abnormal: "Stalled NotAsExpected", observed: 8,
		},
		"an owner label that is too long": {
			applied: ours.InvalidOwnerLabel("x.y"), want: status.FailedStatus, abnormal: "Stalled InvalidManifestWorkName", observed: 8,
		},
		"a revision that can't be written for now": {
			applied: ours.InvalidSpec("creating ControllerRevision x"), pending: true,
			want: status.InProgressStatus, abnormal: "Reconciling NotAsExpected", observed: 7,
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := rolling.DeepCopy()
			object.Generation = 8
			ours.Hold(&object.Status, tc.applied, tc.pending, 8, now)
			got, message := computed(t, object)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.abnormal, abnormals(object))
			require.Equal(t, tc.observed, object.Status.ObservedGeneration)
			if !tc.pending {
				require.Equal(t, tc.applied.Message, message)
			}
			again := object.DeepCopy()
			ours.Hold(&again.Status, tc.applied, tc.pending, 8, metav1.NewTime(now.Add(minute)))
			require.Equal(t, object.Status, again.Status, "the same is held again (P7)")
		})
	}
}

// TestUnobserved: an object that no hub has seen is in progress, because of the CRD's default. An object that is being deleted is in
// progress, regardless of its status.
func TestUnobserved(t *testing.T) {
	object := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 1}}
	object.Status.ObservedGeneration = -1
	got, message := computed(t, object)
	require.Equal(t, status.InProgressStatus, got, message)

	object.DeletionTimestamp = &now
	got, message = computed(t, object)
	require.Equal(t, status.TerminatingStatus, got, message)
}

// TestConditionsOfAWaitingTemplate: while the template in the spec waits, no condition reports the previous rollout for it, unless it reports
// the reason for the wait.
func TestConditionsOfAWaitingTemplate(t *testing.T) {
	for _, tc := range []struct {
		problems []string
		observed int64
	}{{nil, 6}, {[]string{"the ControllerRevision can't be created"}, 7}} {
		in := pending(input(ours.Complete, p1(rt.Clusters("c1")), rt.Works(done("c1"))))
		in.Problems = tc.problems
		got := build(in)
		require.Equal(t, workv1alpha1.StateRollingOut, got.State)
		require.EqualValues(t, 6, got.ObservedGeneration)
		require.NotEmpty(t, got.Conditions)
		for i := range got.Conditions {
			require.Equal(t, tc.observed, got.Conditions[i].ObservedGeneration, got.Conditions[i].Type)
		}
	}
}
