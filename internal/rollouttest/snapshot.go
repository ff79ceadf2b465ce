package rollouttest

import (
	"fmt"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// SnapshotOption changes a snapshot.
type SnapshotOption func(*rollout.Snapshot)

// Snapshot returns a snapshot at Epoch, of a rollout from aaa to bbb that selects no cluster. A success counts at once.
func Snapshot(options ...SnapshotOption) *rollout.Snapshot {
	s := &rollout.Snapshot{Now: Epoch, Fleet: rollout.Fleet{Gap: rollout.UnknownGap(At(-24 * time.Hour))}, Owner: Owner}
	Rolling("aaa", "bbb")(s)
	for _, option := range options {
		option(s)
	}
	return s
}

// Now sets the hub's clock.
func Now(since time.Duration) SnapshotOption {
	return func(s *rollout.Snapshot) { s.Now = At(since) }
}

// ConnectedSince sets the time since which the hub has been able to hear from the agents.
func ConnectedSince(since time.Duration) SnapshotOption {
	return func(s *rollout.Snapshot) { s.Gap = rollout.UnknownGap(At(since)) }
}

// Heard makes the works travel over a broker. This process has heard only from the agents of these clusters, since a time.
func Heard(at time.Duration, clusters ...string) SnapshotOption {
	return func(s *rollout.Snapshot) {
		if s.Heard == nil {
			s.Heard = map[string]time.Time{}
		}
		for _, cluster := range clusters {
			s.Heard[cluster] = At(at)
		}
	}
}

// Settle sets how long a success must last.
func Settle(settle time.Duration) SnapshotOption {
	return func(s *rollout.Snapshot) { s.Settle = settle }
}

// Rolling is a rollout from one revision to another. current is empty for a first rollout.
func Rolling(current, update string) SnapshotOption {
	return func(s *rollout.Snapshot) {
		s.Update = Revision(update)
		s.Current, s.Absent = nil, &rollout.Absence{Cause: rollout.NeverComplete}
		if current != "" {
			s.Current, s.Absent = Revision(current), nil
		}
	}
}

// Updating sets the update revision.
func Updating(rev *work.Revision) SnapshotOption {
	return func(s *rollout.Snapshot) { s.Update = rev }
}

// Current sets the current revision.
func Current(rev *work.Revision) SnapshotOption {
	return func(s *rollout.Snapshot) { s.Current, s.Absent = rev, nil }
}

// Aborted marks the rollout as aborted.
func Aborted() SnapshotOption {
	return func(s *rollout.Snapshot) { s.Aborted = true }
}

// Gated turns success gates on.
func Gated() SnapshotOption {
	return func(s *rollout.Snapshot) { s.Gated = true }
}

// Undoing makes the rollout return to a revision that is older than the current one.
func Undoing() SnapshotOption {
	return func(s *rollout.Snapshot) { s.Undo = true }
}

// Paused pauses the owner.
func Paused() SnapshotOption {
	return func(s *rollout.Snapshot) { s.Paused = true }
}

// OwnerLabel puts a label on the owner.
func OwnerLabel(key, value string) SnapshotOption {
	return func(s *rollout.Snapshot) {
		if s.Labels == nil {
			s.Labels = map[string]string{}
		}
		s.Labels[key] = value
	}
}

// Refs are the placementRefs, in spec order.
func Refs(refs ...placement.Ref) SnapshotOption {
	return func(s *rollout.Snapshot) {
		for i := range refs {
			refs[i].Field = fmt.Sprintf("spec.placementRefs[%d]", i)
		}
		s.Refs = refs
	}
}

// IgnoredRefs sets the number of placementRefs in the spec that are ignored because there are too many.
func IgnoredRefs(n int) SnapshotOption {
	return func(s *rollout.Snapshot) { s.IgnoredRefs = n }
}

// Works are the owner's works.
func Works(works ...work.Work) SnapshotOption {
	return func(s *rollout.Snapshot) { s.Works = append(s.Works, works...) }
}

// Older are further revisions in the history.
func Older(hashes ...string) SnapshotOption {
	return func(s *rollout.Snapshot) {
		for _, hash := range hashes {
			s.Older = append(s.Older, Revision(hash))
		}
	}
}

// Recorded puts failures of clusters into the records, under a Placement.
func Recorded(placement string, reason workv1alpha1.FailureReason, clusters ...string) SnapshotOption {
	return func(s *rollout.Snapshot) {
		if s.Records.Failures == nil {
			s.Records.Failures = map[string]rollout.Failure{}
		}
		for _, cluster := range clusters {
			s.Records.Failures[cluster] = rollout.Failure{Placement: placement, Since: At(0), Reason: reason}
		}
	}
}

// Rejected records the time since which the API server has rejected the work of a cluster, and when the write was last
// tried.
func Rejected(cluster string, since, triedAt time.Duration) SnapshotOption {
	return func(s *rollout.Snapshot) {
		if s.Rejected == nil {
			s.Rejected = map[string]rollout.Rejection{}
		}
		s.Rejected[cluster] = rollout.Rejection{Since: At(since), TriedAt: At(triedAt), Message: "no quota in " + cluster}
	}
}

// Unavailable makes clusters unavailable since a time.
func Unavailable(since time.Duration, clusters ...string) SnapshotOption {
	return func(s *rollout.Snapshot) {
		for _, cluster := range clusters {
			setCluster(s, cluster, placement.Cluster{UnavailableSince: At(since)})
		}
	}
}

// AvailableAgain makes clusters available since a time, before which they were unavailable.
func AvailableAgain(since time.Duration, clusters ...string) SnapshotOption {
	return func(s *rollout.Snapshot) {
		for _, cluster := range clusters {
			setCluster(s, cluster, placement.Cluster{Available: true, AvailableSince: At(since)})
		}
	}
}

func setCluster(s *rollout.Snapshot, name string, cluster placement.Cluster) {
	if s.Clusters == nil {
		s.Clusters = placement.Clusters{}
	}
	s.Clusters[name] = cluster
}

// Approved records that users approved listed groups.
func Approved(groups ...string) SnapshotOption {
	return func(s *rollout.Snapshot) {
		if s.Approved == nil {
			s.Approved = map[string]bool{}
		}
		for _, group := range groups {
			s.Approved[group] = true
		}
	}
}

// Baking sets when the bakeTime of a listed group of Placement p1 began, according to the ledger.
func Baking(group string, since time.Duration) SnapshotOption {
	return func(s *rollout.Snapshot) { s.Records.Baking = map[string]time.Time{"p1/" + group: At(since)} }
}

// Began sets when the rollout began. By default, that was long ago.
func Began(since time.Duration) SnapshotOption {
	return func(s *rollout.Snapshot) { s.Began = At(since) }
}

// Ended marks the rollout as complete.
func Ended() SnapshotOption {
	return func(s *rollout.Snapshot) { s.Ended = true }
}
