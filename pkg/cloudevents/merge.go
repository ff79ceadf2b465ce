package cloudevents

import (
	"strconv"
	"time"

	"github.com/bwmarrin/snowflake"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
)

// verdict is the meaning of an agent's report.
type verdict int

const (
	// noted means that the store holds the content of the report.
	noted verdict = iota
	// unknown means that the work is not in the store.
	unknown
	// unexpectedGeneration means that the agent does not have the work that the hub expects, and the work must be sent again.
	unexpectedGeneration
	// unsure means that the agent has the content of a write by this hub that has not ended yet, or that failed.
	unsure
)

// report processes an agent's report of a work. The status is merged without holding the lock, and merged again if the
// work has changed in the meantime, so that a large report does not delay other clusters.
func (s *store) report(reported *workv1.ManifestWork) verdict {
	for {
		found, before := s.judge(reported)
		if before == nil {
			return found
		}
		if s.replace(before, before.merge(reported)) {
			return noted
		}
	}
}

// observed is a work, and the report that was last merged into it.
type observed struct {
	work     *workv1.ManifestWork
	sequence string
	// generation is the generation of the report. A report with a higher generation is always newer.
	generation int64
}

// judge returns the meaning of a report, and the work whose status it changes; nil if it does not change a status.
func (s *store) judge(reported *workv1.ManifestWork) (verdict, *observed) {
	gone := meta.IsStatusConditionTrue(reported.Status.Conditions, common.ResourceDeleted)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[reported.UID]
	if r == nil || r.work == nil {
		if gone {
			return noted, nil
		}
		return unknown, nil
	}
	switch alive := r.work.DeletionTimestamp.IsZero(); {
	case gone && alive:
		return unexpectedGeneration, nil
	case gone:
		s.forget(r)
		return noted, nil
	case alive && reported.Generation > r.work.Generation:
		if reported.Generation <= r.cluster.given {
			return unsure, nil
		}
		return unexpectedGeneration, nil
	}
	return noted, &observed{r.work, r.sequence, r.reported}
}

// merge merges a report into the status of a work, unless a later report has already been merged.
func (o observed) merge(reported *workv1.ManifestWork) observed {
	sequence := reported.Annotations[common.CloudEventsSequenceIDAnnotationKey]
	if reported.Generation <= o.generation && !isLater(o.sequence, sequence) {
		return o
	}
	status := mergeStatus(&o.work.Status, &reported.Status, o.work.Generation, mostManifests(o.work))
	o.sequence, o.generation = sequence, reported.Generation
	if len(o.work.Finalizers) == 0 || !equality.Semantic.DeepEqual(o.work.Status, status) {
		changed := *o.work
		changed.Status = status
		// The work is on the cluster, so a deletion has to wait for the agent.
		changed.Finalizers = []string{workv1.ManifestWorkFinalizer}
		o.work = &changed
	}
	return o
}

// replace stores a merged status, and reports whether the work was unchanged since the merge.
func (s *store) replace(before *observed, now observed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[before.work.UID]
	if r == nil || r.work != before.work || r.sequence != before.sequence {
		return false
	}
	r.sequence, r.reported = now.sequence, now.generation
	if now.work != before.work {
		s.store(r, now.work, r.content)
	}
	return true
}

// maxLate is the longest time by which a report may arrive after a newer one. Brokers do not keep reports while the hub is disconnected.
const maxLate = time.Minute

// isLater reports whether a report with the given sequence ID is later than an earlier report. An agent derives its sequence IDs from the
// clock at the time the agent starts. If an ID is far behind, the agent has restarted, and its clock was wrong before or after the
// restart. If the hub ignored such reports, the cluster would fail.
func isLater(earlier, sequence string) bool {
	later, err := utils.CompareSnowflakeSequenceIDs(earlier, sequence)
	if err != nil || later {
		return err == nil
	}
	return timeOf(earlier).Sub(timeOf(sequence)) > maxLate
}

// timeOf returns the time that a sequence ID contains, or the zero time if the ID is not valid.
func timeOf(sequence string) time.Time {
	id, err := strconv.ParseInt(sequence, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(snowflake.ParseInt64(id).Time())
}
