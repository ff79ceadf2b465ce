package cloudevents

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
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
	// unsure means that the agent has the content of a write of this hub that has not ended yet, or that failed.
	unsure
)

// report processes an agent's report of a work. The status is merged without the lock, and merged again if the work has changed meanwhile.
// So a large report does not delay other clusters.
func (s *store) report(reported *workv1.ManifestWork) verdict {
	for {
		found, before := s.judge(reported)
		if before == nil {
			return found
		}
		if s.replace(before, before.observe(reported)) {
			return noted
		}
	}
}

// observed is a work before a report is merged into it.
type observed struct {
	work     *workv1.ManifestWork
	sequence string
	// reported is the generation in the last report. A report with a higher generation is always newer.
	reported int64
}

// judge returns the meaning of a report, and the work whose status it changes; nil if it changes none.
func (s *store) judge(reported *workv1.ManifestWork) (verdict, *observed) {
	gone := meta.IsStatusConditionTrue(reported.Status.Conditions, common.ResourceDeleted)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.works[reported.UID]
	if h == nil {
		if gone {
			return noted, nil
		}
		return unknown, nil
	}
	h.wordAt = s.clock.Now()
	switch alive := h.work.DeletionTimestamp.IsZero(); {
	case gone && alive:
		return unexpectedGeneration, nil
	case gone:
		s.forget(h)
		return noted, nil
	case alive && reported.Generation > h.work.Generation:
		if reported.Generation <= s.generations[h.work.UID] {
			return unsure, nil
		}
		return unexpectedGeneration, nil
	}
	return noted, &observed{work: h.work, sequence: h.sequence, reported: h.reported}
}

// merged is the result of merging a report into a work.
type merged struct {
	// work is nil if the report contains nothing new.
	work     *workv1.ManifestWork
	sequence string
	reported int64
}

// observe merges a report into the status of a work, unless a later one was merged before.
func (o *observed) observe(reported *workv1.ManifestWork) merged {
	sequence := reported.Annotations[common.CloudEventsSequenceIDAnnotationKey]
	if reported.Generation <= o.reported && !isLater(o.sequence, sequence) {
		return merged{sequence: o.sequence, reported: o.reported}
	}
	status := mergeStatus(&o.work.Status, &reported.Status, o.work.Generation, mostManifests(o.work))
	if len(o.work.Finalizers) > 0 && equality.Semantic.DeepEqual(o.work.Status, status) {
		return merged{sequence: sequence, reported: reported.Generation}
	}
	changed := *o.work
	changed.Status = status
	// The work is on the cluster, so a deletion has to wait for the agent.
	changed.Finalizers = []string{workv1.ManifestWorkFinalizer}
	return merged{work: &changed, sequence: sequence, reported: reported.Generation}
}

// replace stores a merged status, and reports whether the work had not changed since the merge.
func (s *store) replace(before *observed, now merged) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.works[before.work.UID]
	if h == nil || h.work != before.work || h.sequence != before.sequence {
		return false
	}
	h.sequence, h.reported = now.sequence, now.reported
	if now.work != nil {
		s.store(now.work, h.content)
	}
	return true
}

// renewals is the pace at which a work is sent again if its agent reports a newer generation: immediately the first time, and then after a
// delay that doubles with each such report.
type renewals struct {
	last  time.Time
	times int
}

// renewPause returns how much longer a work has to wait before it is sent again.
func (s *store) renewPause(uid types.UID, first time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.works[uid]
	if h == nil || h.renewals.times == 0 {
		return 0
	}
	return max(0, first<<(h.renewals.times-1)-s.clock.Since(h.renewals.last))
}

// renewed counts that a work is sent again. After a period without renewals the pace is reset.
func (s *store) renewed(uid types.UID, first time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.works[uid]
	if h == nil {
		return
	}
	r, now := &h.renewals, s.clock.Now()
	if now.Sub(r.last) >= first<<(maxDoublings+1) {
		r.times = 0
	}
	r.last, r.times = now, min(r.times+1, maxDoublings)
}

// wordOf returns the time of the agent's last report of a work; zero for never.
func (s *store) wordOf(uid types.UID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.works[uid]; h != nil {
		return h.wordAt
	}
	return time.Time{}
}

// reportedGeneration returns the generation of the agent's last report of a work; zero for none.
func (s *store) reportedGeneration(uid types.UID) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.works[uid]; h != nil {
		return h.reported
	}
	return 0
}

// touch gives a work a new version without changing it, so that watchers process it again.
func (s *store) touch(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.works[uid]; h != nil {
		same := *h.work
		s.store(&same, h.content)
	}
}
