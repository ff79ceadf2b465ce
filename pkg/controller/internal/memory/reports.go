package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// Reports remembers this process's reports about each ManifestWorkReplicaSet, by "namespace/name", so that nothing is reported twice or
// too often. After a restart, the stored status provides the last report, as far as it can.
//
// An entry is created with the first report. It is dropped when the cache shows that its owner is gone: for a new object of the same name,
// everything is reported again.
type Reports struct{ entries[string, ownerReports] }

// ownerReports holds this process's reports about one owner.
type ownerReports struct {
	// notes holds the texts of the log and of events that each process reports once, at most notesKept.
	notes sets.Set[string]
	// told is the last report; nil if this process has not reported anything.
	told *status.Told
	// reportedAt is when a status was last written; zero for never.
	reportedAt time.Time
}

// notesKept is the maximum number of remembered notes of one owner. Each names revisions or objects, so that a long life has many. After
// that many, all are forgotten: a note that still applies is reported once more.
const notesKept = 100

// Announce reports whether a note of an owner is new to this process, and remembers it. Of several callers, only one gets true.
func (m *Reports) Announce(owner, note string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(owner).announce(note)
}

func (t *ownerReports) announce(note string) bool {
	if t.notes.Has(note) {
		return false
	}
	if len(t.notes) >= notesKept || t.notes == nil {
		t.notes = sets.New[string]()
	}
	t.notes.Insert(note)
	return true
}

// Tell changes the last report, and returns the one before the change. initial returns it for a process that has not reported anything.
func (m *Reports) Tell(owner string, initial func() status.Told, change func(*status.Told)) (before status.Told) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(owner)
	if known.told == nil {
		known.told = ptr.To(initial())
	}
	before = *known.told
	change(known.told)
	return before
}

// Reported notes that a status was written.
func (m *Reports) Reported(owner string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).reportedAt = now
}

// LastReport returns when a status was last written; zero for never.
func (m *Reports) LastReport(owner string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).reportedAt
}

// reportInterval is the minimum time between two writes of the counts and messages of one ManifestWorkReplicaSet: a thousand agents that
// answer within a second lead to one write. Changes that a user or a program waits for are written at once.
const reportInterval = time.Second

// ReportWait returns how long a status must wait because it reports only progress and the last one was just written. Zero means that it is
// written in this pass, if it changed.
func (m *Reports) ReportWait(owner string, stored, wanted *workv1alpha1.ManifestWorkReplicaSetStatus, now time.Time) time.Duration {
	last := m.LastReport(owner)
	if !lately(last, now, reportInterval) || !onlyProgress(stored, wanted) || equality.Semantic.DeepEqual(*stored, *wanted) {
		return 0
	}
	return last.Add(reportInterval).Sub(now)
}

// onlyProgress reports whether two statuses differ at most in counts and messages.
func onlyProgress(stored, wanted *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	if len(stored.Conditions) != len(wanted.Conditions) ||
		stored.Ledger != wanted.Ledger || decides(stored) != decides(wanted) ||
		!equality.Semantic.DeepEqual(stored.Failures, wanted.Failures) || !equality.Semantic.DeepEqual(stored.AbortedTime, wanted.AbortedTime) {
		return false
	}
	for i := range wanted.Conditions {
		if !sameState(&stored.Conditions[i], &wanted.Conditions[i]) {
			return false
		}
	}
	return true
}

// decides returns the fields of a status that name revisions.
func decides(s *workv1alpha1.ManifestWorkReplicaSetStatus) [2]string {
	return [2]string{s.CurrentRevision, s.UpdateRevision}
}

func sameState(a, b *metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.ObservedGeneration == b.ObservedGeneration
}
