package status

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// RecordsOf reads the facts about the rollout of the update revision from a status.
func RecordsOf(status *workv1alpha1.ManifestWorkReplicaSetStatus) rollout.Records {
	found := rollout.Records{
		Failures: failuresOf(status.Failures), Rejections: failuresOf(status.Rejections),
		Halted: map[string]time.Time{}, Counted: map[string]int{},
	}
	for i := range status.PlacementsSummary {
		placement := &status.PlacementsSummary[i]
		if placement.Counted > 0 {
			found.Counted[placement.Name] = max(found.Counted[placement.Name], int(placement.Counted))
		}
		if _, known := found.Halted[placement.Name]; !known && placement.HaltedTime != nil {
			found.Halted[placement.Name] = placement.HaltedTime.Time
		}
	}
	return found
}

func failuresOf(stored []workv1alpha1.ClusterFailure) map[string]rollout.Failure {
	found := make(map[string]rollout.Failure, len(stored))
	for i := range stored {
		f := &stored[i]
		found[f.Cluster] = rollout.Failure{Placement: f.Placement, Since: f.Since.Time, Reason: f.Reason, Message: f.Message}
	}
	return found
}

// clusterFailures returns records as the status holds them, sorted by cluster; nil for none.
func clusterFailures(records map[string]rollout.Failure) []workv1alpha1.ClusterFailure {
	if len(records) == 0 {
		return nil
	}
	out := make([]workv1alpha1.ClusterFailure, 0, len(records))
	for _, cluster := range slices.Sorted(maps.Keys(records)) {
		record := records[cluster]
		out = append(out, workv1alpha1.ClusterFailure{
			Cluster: cluster, Placement: record.Placement, Since: recordedAt(record.Since), Reason: record.Reason, Message: quoted(record.Message),
		})
	}
	return out
}

// recordedAt returns a time as a record holds it. The API server accepts the zero time from a user, and the field is required: the
// earliest time that can be told from it takes its place.
func recordedAt(at time.Time) metav1.Time {
	if stored := seconds(at); stored != nil {
		return *stored
	}
	return metav1.Unix(0, 0)
}

// quoted returns the message of an agent or of the API server on one line, in at most MaxFailureMessage bytes.
func quoted(message string) string {
	text := plain.Line(message)
	if len(text) <= workv1alpha1.MaxFailureMessage {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:workv1alpha1.MaxFailureMessage-len(more)], "") + more
}

// report writes the facts about the rollout to a status, and counts the clusters by phase.
func report(in *Input, out *workv1alpha1.ManifestWorkReplicaSetStatus) {
	records := &in.Plan.Records
	RecordClusters(out, records)
	out.Away = away(in.Plan.Away)
	for i := range out.PlacementsSummary {
		placement := &out.PlacementsSummary[i]
		if since, halted := records.Halted[placement.Name]; halted {
			placement.HaltedTime = seconds(since)
		}
		placement.Counted = int32(records.Counted[placement.Name]) //nolint:gosec // The clusters of a Placement.
		if in.Stage != Aborted && in.Stage != Aborting {
			tally(&placement.Summary, in.Plan.Refs[i].Phases)
		}
	}
	if in.Stage == Aborted || in.Stage == Aborting {
		out.Summary.Failed = len(out.Failures)
		return
	}
	tally(&out.Summary, in.Plan.Counts)
}

// RecordClusters puts the failed and the rejected clusters into a status that reports nothing else about the rollout.
func RecordClusters(out *workv1alpha1.ManifestWorkReplicaSetStatus, records *rollout.Records) {
	out.Failures, out.Rejections = clusterFailures(records.Failures), clusterFailures(records.Rejections)
}

// tally sets the number of clusters in each phase. A soaking cluster counts as succeeded: after a restart the hub waits a moment before a
// success is settled, and must not write the status for that (P7).
func tally(summary *workv1alpha1.ManifestWorkReplicaSetSummary, clusters map[rollout.Phase]int) {
	summary.Failed = clusters[rollout.PhaseFailed] + clusters[rollout.PhaseTerminationTimedOut]
	summary.Waiting = clusters[rollout.PhaseWaiting] + clusters[rollout.PhaseTerminating]
	summary.InFlight = clusters[rollout.PhaseInFlight] + clusters[rollout.PhaseHandingOver] +
		clusters[rollout.PhaseDegraded] + clusters[rollout.PhaseAgentUnknown]
}

// SameRecords reports whether two statuses hold the same facts about the rollout.
func SameRecords(a, b *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	return equality.Semantic.DeepEqual(a.Failures, b.Failures) && equality.Semantic.DeepEqual(a.Rejections, b.Rejections) &&
		maps.EqualFunc(RecordsOf(a).Halted, RecordsOf(b).Halted, time.Time.Equal) && maps.Equal(RecordsOf(a).Counted, RecordsOf(b).Counted)
}

// TakeRecords copies the facts about the rollout from another status.
func TakeRecords(to, from *workv1alpha1.ManifestWorkReplicaSetStatus) {
	to.Failures, to.Rejections = from.Failures, from.Rejections
	records := RecordsOf(from)
	for i := range to.PlacementsSummary {
		to.PlacementsSummary[i].Counted = int32(records.Counted[to.PlacementsSummary[i].Name]) //nolint:gosec // The clusters of a Placement.
		to.PlacementsSummary[i].HaltedTime = nil
		if since, known := records.Halted[to.PlacementsSummary[i].Name]; known {
			to.PlacementsSummary[i].HaltedTime = seconds(since)
		}
	}
}

// SameCounts reports whether two statuses count the same clusters in each phase.
func SameCounts(a, b *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	return counts(&a.Summary) == counts(&b.Summary) && slices.EqualFunc(a.PlacementsSummary, b.PlacementsSummary, func(a, b workv1alpha1.PlacementSummary) bool {
		return counts(&a.Summary) == counts(&b.Summary)
	})
}

// counts are the counts that upstream's summary does not have.
func counts(summary *workv1alpha1.ManifestWorkReplicaSetSummary) [3]int {
	return [3]int{summary.Failed, summary.Waiting, summary.InFlight}
}

// TakeCounts copies the counts from another status.
func TakeCounts(to, from *workv1alpha1.ManifestWorkReplicaSetStatus) {
	take := func(to, from *workv1alpha1.ManifestWorkReplicaSetSummary) {
		to.Failed, to.Waiting, to.InFlight = from.Failed, from.Waiting, from.InFlight
	}
	take(&to.Summary, &from.Summary)
	none := &workv1alpha1.ManifestWorkReplicaSetSummary{}
	for i := range to.PlacementsSummary {
		take(&to.PlacementsSummary[i].Summary, none)
		if i < len(from.PlacementsSummary) {
			take(&to.PlacementsSummary[i].Summary, &from.PlacementsSummary[i].Summary)
		}
	}
}
