package ledger

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

type objectStatus = workv1alpha1.ManifestWorkReplicaSetStatus

// Project writes the ledger to a status, with the fields for users: the revisions, the abort, and the troubles.
func (l *Ledger) Project(to *objectStatus) error {
	text, err := l.Encode()
	if err != nil {
		return err
	}
	to.Ledger = text
	to.UpdateRevision, to.CurrentRevision, to.CollisionCount = l.Update.Hash, l.Current.Hash, nil
	if l.Collisions > 0 {
		to.CollisionCount = ptr.To(l.Collisions)
	}
	to.AbortedTime, to.AbortedBy, to.AbortReason = nil, "", ""
	if l.Abort != nil {
		to.AbortedTime, to.AbortedBy, to.AbortReason = ptr.To(seconds(l.Abort.At)), l.Abort.By, l.Abort.Said
	}
	to.Failures, to.Rejections, to.Approvals = l.failures(Failed), l.rejections(), l.approvals()
	for i := range to.PlacementsSummary {
		placement := &to.PlacementsSummary[i]
		placement.HaltedTime = nil
		if since, halted := l.Halted[placement.Name]; halted {
			placement.HaltedTime = ptr.To(seconds(since))
		}
		placement.Counted = int32(l.Counted[placement.Name]) //nolint:gosec // The clusters of a Placement.
	}
	return nil
}

// Differing returns the names of the status fields that differ from the projection of the ledger, for messages.
func (l *Ledger) Differing(status *objectStatus) (fields []string) {
	wanted := status.DeepCopy()
	if l.Project(wanted) != nil {
		return nil
	}
	for _, field := range []struct {
		name  string
		equal bool
	}{
		{"updateRevision", status.UpdateRevision == wanted.UpdateRevision},
		{"currentRevision", status.CurrentRevision == wanted.CurrentRevision},
		{"abortedTime", status.AbortedTime.Equal(wanted.AbortedTime)},
		{"failures", equality.Semantic.DeepEqual(status.Failures, wanted.Failures)},
		{"rejections", equality.Semantic.DeepEqual(status.Rejections, wanted.Rejections)},
		{"approvals", equality.Semantic.DeepEqual(status.Approvals, wanted.Approvals)},
	} {
		if !field.equal {
			fields = append(fields, "status."+field.name)
		}
	}
	return fields
}

// rejections returns the rejections as the status lists them, at most MaxFailures, and one for each cluster: first those of the abort's
// writes, then those of the aborted rollout's.
func (l *Ledger) rejections() []workv1alpha1.ClusterFailure {
	out := l.failures(Unrestored)
	listed := l.TroublesIn(Unrestored)
	for _, rejection := range l.failures(Rejected) {
		if _, known := listed[rejection.Cluster]; !known && len(out) < workv1alpha1.MaxFailures {
			out = append(out, rejection)
		}
	}
	slices.SortFunc(out, func(a, b workv1alpha1.ClusterFailure) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return out
}

// failures returns the troubles that have a state, as the status lists them; nil if there are none.
func (l *Ledger) failures(state State) (out []workv1alpha1.ClusterFailure) {
	for i := range l.Troubles {
		if t := &l.Troubles[i]; t.State == state {
			out = append(out, workv1alpha1.ClusterFailure{
				Cluster: t.Cluster, Placement: t.Placement, Since: seconds(t.Since), Reason: t.Reason, Message: Quoted(t.Message),
			})
		}
	}
	return out
}

// seconds returns a time in whole seconds, as in the status.
func seconds(at time.Time) metav1.Time {
	if at.IsZero() {
		return metav1.Unix(0, 0) // The field is required.
	}
	return metav1.NewTime(at.UTC().Truncate(time.Second))
}

// Quoted returns the message from an agent or the API server on one line, in at most MaxFailureMessage bytes.
func Quoted(message string) string {
	return revision.Shortened(plain.Line(message), workv1alpha1.MaxFailureMessage)
}

// FromStatus derives a ledger, without a number, from the fields of a status. It is for readers of an object whose ledger can't be read.
func FromStatus(status *objectStatus) Ledger {
	l := Ledger{
		Update: Named{Hash: status.UpdateRevision}, Current: Named{Hash: status.CurrentRevision}, Collisions: ptr.Deref(status.CollisionCount, 0),
		Approvals: approvedIn(status), Counted: map[string]int{}, Halted: map[string]time.Time{},
	}
	underWay := status.State == workv1alpha1.StateRollingOut || status.State.IsStalled()
	if l.Update == l.Current && !underWay {
		l.Ended = time.Unix(1, 0)
	}
	if at := status.AbortedTime; at != nil {
		l.Abort = &revision.Abort{At: at.Time, By: status.AbortedBy, Said: status.AbortReason, Reason: status.AbortReason}
	}
	var troubles []Trouble
	for state, failures := range map[State][]workv1alpha1.ClusterFailure{Failed: status.Failures, Rejected: status.Rejections} {
		for i := range failures {
			f := &failures[i]
			troubles = append(troubles, Trouble{
				Cluster: f.Cluster, State: state, Placement: f.Placement, Since: f.Since.Time, Reason: f.Reason, Message: f.Message,
			})
		}
	}
	l.SetTroubles(troubles)
	for i := range status.PlacementsSummary {
		placement := &status.PlacementsSummary[i]
		if placement.Counted > 0 {
			l.Counted[placement.Name] = max(l.Counted[placement.Name], int(placement.Counted))
		}
		if _, known := l.Halted[placement.Name]; !known && placement.HaltedTime != nil {
			l.Halted[placement.Name] = placement.HaltedTime.Time
		}
	}
	return l
}
