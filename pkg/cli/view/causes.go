package view

import (
	"cmp"
	"slices"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
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
// waiting cluster has a message if it is sick at its present revision. The most urgent causes come first.
func causesOf(rs *workv1alpha1.ManifestWorkReplicaSet, clusters []Cluster) []Cause {
	found, recorded := map[causeKey]*Cause{}, map[string]*Cause{}
	add := func(key causeKey, cluster string, since time.Time) *Cause {
		cause := found[key]
		if cause == nil {
			cause = &Cause{State: key.state, Reason: key.reason, Message: key.message}
			found[key] = cause
		}
		cause.Clusters, cause.Since = append(cause.Clusters, cluster), earlier(cause.Since, since)
		return cause
	}
	record := func(state State, entries []workv1alpha1.ClusterFailure) {
		for i := range entries {
			f := &entries[i]
			recorded[f.Cluster] = add(causeKey{state, f.Reason, f.Message}, f.Cluster, f.Since.Time)
		}
	}
	record(StateFailed, rs.Status.Failures)
	record(StateRejected, rs.Status.Rejections)
	for i := range clusters {
		c := &clusters[i]
		cause := recorded[c.Name]
		if cause == nil && c.Message != "" && c.State != StateRestoring && c.State != StateTerminating {
			cause = add(causeKey{c.State, cmp.Or(c.Reason, workv1alpha1.FailureReason(c.State)), c.Message}, c.Name, c.Since)
		}
		if cause != nil && c.State == cause.State && !c.ChangesAt.IsZero() && earlier(cause.ChangesAt, c.ChangesAt).Equal(c.ChangesAt) {
			cause.ChangesAt, cause.Then = c.ChangesAt, c.Then
		}
	}
	causes := make([]Cause, 0, len(found))
	for _, cause := range found {
		slices.Sort(cause.Clusters)
		causes = append(causes, *cause)
	}
	slices.SortFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.State.rank(), b.State.rank()),
			cmp.Compare(len(b.Clusters), len(a.Clusters)), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return causes
}

// sickAt returns the agent's message about a waiting cluster whose present revision does not succeed; empty if it succeeds.
func (o *Objects) sickAt(w *work.Work) string {
	if w == nil || w.Deleting() || !confirmed(w) {
		return ""
	}
	s := o.snapshot()
	for _, rev := range append([]*work.Revision{s.Current}, s.Older...) {
		if rev == nil || rev.Hash != w.Hash() || !w.At(rev) {
			continue
		}
		if state := work.Assess(w, rev, o.Now).State; state == work.Degraded || state == work.InFlight {
			return "sick at revision " + o.number(rev.Hash) + ": " + status.AgentMessage(w.Object)
		}
	}
	return ""
}
