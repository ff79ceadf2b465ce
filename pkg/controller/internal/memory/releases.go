package memory

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/orphan"
)

// Releases is what this process has seen of the ManifestWorks of ManifestWorkReplicaSets that are being deleted and whose workloads stay,
// by "namespace/name". Only the live works count. This memory only saves reads of them.
//
// An entry is created when the works were listed live. It is dropped when the cache shows that its owner is gone, or when the workloads
// should no longer stay.
type Releases struct{ entries[string, releasing] }

type releasing struct {
	works map[types.UID]*releasedWork
	// clusters is the largest number of works seen.
	clusters int
}

// releasedWork is the knowledge about one work.
type releasedWork struct {
	// version is the version that was checked, and step is the resulting step.
	version string
	step    orphan.Step
	// written is the spec that was last written, without the manifests, and writtenAt is when.
	written   *workv1.ManifestWorkSpec
	writtenAt time.Time
}

// Begin notes that the works of an owner were listed live.
func (m *Releases) Begin(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.of(owner); known.works == nil {
		known.works = map[types.UID]*releasedWork{}
	}
}

// Begun reports whether the works of an owner were listed live.
func (m *Releases) Begun(owner string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).works != nil
}

// Clusters returns the largest number of works of an owner, now or earlier.
func (m *Releases) Clusters(owner string, counted int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(owner)
	known.clusters = max(known.clusters, counted)
	return known.clusters
}

// Step returns the step from the last check of a work, if it still applies; false if the work must be checked.
func (m *Releases) Step(owner string, work *workv1.ManifestWork) (orphan.Step, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.look(owner).works[work.UID]
	if known == nil || (known.version != work.ResourceVersion && !known.step.Final()) {
		return orphan.Step{}, false
	}
	return known.step, true
}

// Looked notes the step from a check of a version of a work, and returns it. It keeps the agent's first message about each manifest,
// because messages with a time or an ID change with each try (P7).
func (m *Releases) Looked(owner string, uid types.UID, version string, step orphan.Step) orphan.Step {
	m.mu.Lock()
	before := m.work(owner, uid).step.Unreleased // A stored step is never changed.
	m.mu.Unlock()
	words := make(map[string]string, len(before))
	for i := range slices.Backward(before) {
		words[before[i].Name] = before[i].Message
	}
	for i := range step.Unreleased {
		if first, told := words[step.Unreleased[i].Name]; told {
			step.Unreleased[i].Message = first
		}
	}
	step.Spec = nil
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.work(owner, uid)
	known.version, known.step = version, step
	return step
}

// Wrote notes the spec that was written to a work.
func (m *Releases) Wrote(owner string, uid types.UID, spec *workv1.ManifestWorkSpec, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.work(owner, uid)
	known.written, known.writtenAt = &workv1.ManifestWorkSpec{DeleteOption: spec.DeleteOption, ManifestConfigs: spec.ManifestConfigs}, now
}

// Repeats reports whether the same spec was written to a work less than a minute ago: the API server stored it differently.
func (m *Releases) Repeats(owner string, uid types.UID, spec *workv1.ManifestWorkSpec, now time.Time) bool {
	m.mu.Lock()
	var known releasedWork
	if found := m.look(owner).works[uid]; found != nil {
		known = *found
	}
	m.mu.Unlock()
	return known.written != nil && lately(known.writtenAt, now, RefusedInterval) && orphan.Equivalent(known.written, spec)
}

func (m *Releases) work(owner string, uid types.UID) *releasedWork { return m.of(owner).work(uid) }

func (r *releasing) work(uid types.UID) *releasedWork {
	if r.works == nil {
		r.works = map[types.UID]*releasedWork{}
	}
	if r.works[uid] == nil {
		r.works[uid] = &releasedWork{}
	}
	return r.works[uid]
}
