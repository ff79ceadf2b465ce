package memory

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// Reports is what this process has reported of each ManifestWorkReplicaSet, by "namespace/name", so that nothing is reported twice, or too
// often. What a status reports follows from its transitions (events.go), and needs no memory.
//
// An entry begins with the first report. It goes away when the cache shows that its owner is gone: for another one with its name, the
// same is reported again.
type Reports struct{ entries[string, ownerReports] }

// ownerReports is what this process has said of one owner.
type ownerReports struct {
	// notes holds the texts of the log and of events that each process says once.
	notes sets.Set[string]
	// ruledOut is the hash of the revision whose rollout was last said to have nothing to go back to; empty for none.
	ruledOut string
	// unreached names the clusters whose agents were last said not to get what they are sent.
	unreached string
	// reportedAt is when a status was written last; zero for never.
	reportedAt time.Time
}

// Announce reports whether a note of an owner is new to this process. From then on it is known: of several callers, one gets true.
func (m *Reports) Announce(owner, note string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(owner).announce(note)
}

func (t *ownerReports) announce(note string) bool {
	if t.notes.Has(note) {
		return false
	}
	if t.notes == nil {
		t.notes = sets.New[string]()
	}
	t.notes.Insert(note)
	return true
}

// RulesOut notes for which revision's rollout an abort is asked for while there is nothing to go back to; empty for none. It reports
// whether this process has not said so yet.
func (m *Reports) RulesOut(owner, hash string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.look(owner).ruledOut == hash {
		return false
	}
	m.of(owner).ruledOut = hash
	return hash != ""
}

// Unreached notes which clusters' agents do not get what they are sent, sorted. It reports whether there are any, and this process has not
// said so of these yet.
func (m *Reports) Unreached(owner string, clusters []string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := strings.Join(clusters, ",")
	if m.look(owner).unreached == names {
		return false
	}
	m.of(owner).unreached = names
	return names != ""
}

// Reported notes that a status was written.
func (m *Reports) Reported(owner string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).reportedAt = now
}

// LastReport is when a status was written last; zero for never.
func (m *Reports) LastReport(owner string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).reportedAt
}

// reportInterval is how often counts and messages of one ManifestWorkReplicaSet are written at the most: a thousand agents that
// answer within a second are one write. What a person or a program waits for is written at once.
const reportInterval = time.Second

// ReportWait returns how long a status has to wait: it reports progress only, and the last one was written a moment ago. Zero means that it
// is written in this pass, if it changed.
func (m *Reports) ReportWait(owner string, stored, wanted *workv1alpha1.ManifestWorkReplicaSetStatus, now time.Time) time.Duration {
	last := m.LastReport(owner)
	if last.IsZero() || !onlyProgress(stored, wanted) || equality.Semantic.DeepEqual(*stored, *wanted) {
		return 0
	}
	wait := last.Add(reportInterval).Sub(now)
	if wait > reportInterval { // The clock went back.
		return 0
	}
	return max(0, wait)
}

// onlyProgress reports whether two statuses differ in counts and messages at the most.
func onlyProgress(stored, wanted *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	if len(stored.Conditions) != len(wanted.Conditions) ||
		!equality.Semantic.DeepEqual(status.RevisionsOf(stored), status.RevisionsOf(wanted)) ||
		!status.SameRecords(stored, wanted) {
		return false
	}
	for i := range wanted.Conditions {
		if !sameState(&stored.Conditions[i], &wanted.Conditions[i]) {
			return false
		}
	}
	return true
}

func sameState(a, b *metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.ObservedGeneration == b.ObservedGeneration
}
