package view

import (
	"cmp"
	"slices"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// causeKey is what the clusters of a cause have in common.
type causeKey struct {
	state   State
	reason  workv1alpha1.FailureReason
	message string
}

// causesOf groups the recorded failures and rejections, and the other clusters that have not succeeded, by state, reason and message. A
// cluster that waits has a message if it is sick at the revision that it has. The most urgent come first.
func causesOf(rs *workv1alpha1.ManifestWorkReplicaSet, clusters []Cluster) []Cause {
	names, recorded := map[causeKey][]string{}, map[string]bool{}
	record := func(state State, entries []workv1alpha1.ClusterFailure) {
		for i := range entries {
			key := causeKey{state, entries[i].Reason, entries[i].Message}
			names[key] = append(names[key], entries[i].Cluster)
			recorded[entries[i].Cluster] = true
		}
	}
	record(StateFailed, rs.Status.Failures)
	record(StateRejected, rs.Status.Rejections)
	for i := range clusters {
		c := &clusters[i]
		if !recorded[c.Name] && c.Message != "" && c.State != StateRestoring && c.State != StateTerminating {
			key := causeKey{c.State, cmp.Or(c.Reason, workv1alpha1.FailureReason(c.State)), c.Message}
			names[key] = append(names[key], c.Name)
		}
	}
	causes := make([]Cause, 0, len(names))
	for key, clusters := range names {
		slices.Sort(clusters)
		causes = append(causes, Cause{State: key.state, Reason: key.reason, Message: key.message, Clusters: clusters})
	}
	slices.SortFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare((&Cluster{State: a.State}).rank(), (&Cluster{State: b.State}).rank()),
			cmp.Compare(len(b.Clusters), len(a.Clusters)), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return causes
}

// sickAt returns what the agent says of a cluster that waits, if the revision that it has does not succeed there; empty if it does.
func (o *Objects) sickAt(s *rollout.Snapshot, w *work.Work, numbers map[string]int64) string {
	if w == nil || w.Deleting() || !confirmed(w) {
		return ""
	}
	for _, rev := range append([]*work.Revision{s.Current}, s.Older...) {
		if rev == nil || rev.Hash != w.Hash() || !w.At(rev) {
			continue
		}
		if state := work.Assess(w, rev, o.Now).State; state == work.Degraded || state == work.InFlight {
			return "sick at revision " + numberOf(numbers, rev.Hash) + ": " + status.AgentMessage(w.Object)
		}
	}
	return ""
}
