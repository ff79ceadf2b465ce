package memory

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// PrunedInterval is the interval at which this process checks again whether the API server stores a status as it was written.
const PrunedInterval = 5 * time.Minute

// pruning records a status that the API server did not store as it was written, because its CRD is not that of this project, or is an older
// one.
type pruning struct {
	// at is the time of that write; zero if the next status tries the fields again.
	at time.Time
	// wanted is the status that was written, and stored is the status that the API server stored instead.
	wanted, stored *workv1alpha1.ManifestWorkReplicaSetStatus
	// fields are the names of the fields that differ, sorted; updateRevision alone if it is among them.
	fields []string
	// decides is true if the fields that decisions depend on are among them.
	decides bool
	// defaulted is true if the object nevertheless had a default that only our CRD sets.
	defaulted bool
}

// lately reports whether that write was so recent that the fields are not tried again yet.
func (p *pruning) lately(now time.Time) bool { return p != nil && lately(p.at, now, PrunedInterval) }

// Stored compares a status with the API server's answer to its write. defaulted is true if the answer has a default that only our CRD sets.
func (m *Owners) Stored(owner string, wanted, stored *workv1alpha1.ManifestWorkReplicaSetStatus, defaulted bool, now time.Time) {
	fields, decides := differing(wanted, stored), wanted.UpdateRevision != stored.UpdateRevision
	if decides {
		fields = []string{"updateRevision"} // It stands for all fields that the CRD lacks: the number of those that have a value changes.
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(fields) > 0 {
		m.of(owner).pruned = &pruning{
			at: now, wanted: wanted.DeepCopy(), stored: stored.DeepCopy(), fields: fields, decides: decides, defaulted: defaulted,
		}
	} else if known := m.known[owner]; known != nil {
		known.pruned = nil
	}
}

// differing returns the names of the fields in which two statuses differ, as the API server stores them.
func differing(wanted, stored *workv1alpha1.ManifestWorkReplicaSetStatus) []string {
	a, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return nil // A status can always be converted.
	}
	b, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
	if err != nil {
		return nil
	}
	for field, value := range a {
		if reflect.DeepEqual(value, b[field]) {
			delete(a, field)
		}
	}
	return slices.Sorted(maps.Keys(a))
}

// Declined reports whether the API server, given this same status, recently stored the status that is stored now. Then another request
// would change nothing (P7).
func (m *Owners) Declined(owner string, wanted, stored *workv1alpha1.ManifestWorkReplicaSetStatus, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	pruned := m.look(owner).pruned
	return pruned.lately(now) && equality.Semantic.DeepEqual(pruned.stored, stored) && equality.Semantic.DeepEqual(pruned.wanted, wanted)
}

// Defaulted notes that an object has a default that only our CRD sets. If it lacked the default when fields were dropped, the CRD was
// updated since. Then the next status tries the fields again without a wait.
func (m *Owners) Defaulted(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.known[owner]; known != nil && known.pruned != nil && !known.pruned.defaulted {
		known.pruned = &pruning{}
	}
}

// PrunedLately reports whether the API server recently dropped fields that decisions depend on, so that they are not tried again yet.
func (m *Owners) PrunedLately(owner string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	pruned := m.look(owner).pruned
	return pruned.lately(now) && pruned.decides
}

// PrunedFields returns the fields of the status that the API server did not store as they were last written, sorted.
func (m *Owners) PrunedFields(owner string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pruned := m.look(owner).pruned; pruned != nil {
		return pruned.fields
	}
	return nil
}
