package view

import (
	"cmp"
	"slices"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// causesOf groups the recorded failures and rejections, and the other clusters that have not succeeded, by state, reason and message. A
// waiting cluster has a message if its present revision does not succeed. The most urgent causes come first.
func causesOf(recorded, clusters []Cluster) []Cause {
	type key struct {
		state   State
		reason  workv1alpha1.FailureReason
		message string
	}
	found, of := map[key]*Cause{}, map[string]*Cause{}
	add := func(c *Cluster) *Cause {
		k := key{c.State, cmp.Or(c.Reason, workv1alpha1.FailureReason(c.State)), c.Message}
		if found[k] == nil {
			found[k] = &Cause{State: k.state, Reason: k.reason, Message: k.message}
		}
		found[k].Clusters, found[k].Since = append(found[k].Clusters, c.Name), earlier(found[k].Since, c.Since)
		return found[k]
	}
	for i := range recorded {
		of[recorded[i].Name] = add(&recorded[i])
	}
	for i := range clusters {
		c := &clusters[i]
		cause := of[c.Name]
		if cause == nil && c.Message != "" && c.State != StateRestoring && c.State != rollout.PhaseTerminating {
			cause = add(c)
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
		return cmp.Or(cmp.Compare(rank(a.State), rank(b.State)),
			cmp.Compare(len(b.Clusters), len(a.Clusters)), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return causes
}

// sickAt returns what is wrong with the present revision of a waiting cluster: someone edited its work, or the revision does not succeed
// there, with the agent's message. It is empty if nothing is wrong.
func (o *Objects) sickAt(w *work.Work) string {
	if w == nil || w.Deleting() {
		return ""
	}
	s := o.snapshot()
	for _, rev := range append([]*work.Revision{s.Update, s.Current}, s.Older...) {
		if rev == nil || rev.Hash != w.Hash() {
			continue
		}
		if _, written := w.AppliedAt(); written && w.Digest != "" && rev.Template != nil && !w.At(rev) {
			return "the content of the ManifestWork differs from revision " + o.number(rev.Hash) +
				": the hub overwrites the change when the cluster's turn comes"
		}
		if !w.At(rev) || !confirmed(w) {
			continue
		}
		if state := work.Assess(w, rev, o.Now).State; state == work.Degraded || state == work.InFlight {
			return "unhealthy at revision " + o.number(rev.Hash) + ": " + status.AgentMessage(w.Object)
		}
	}
	return ""
}
