package memory

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/release"
)

// Releases is what this process has seen of the ManifestWorks of ManifestWorkReplicaSets that are being deleted and whose workloads
// stay, by "namespace/name" (R20). The live works are what counts: all of it only spares looks at them.
//
// An entry begins when the works were listed live, and goes away when the cache shows that its owner is gone, or when the workloads
// shall not stay any more.
type Releases struct{ entries[string, releasing] }

type releasing struct {
	works map[types.UID]*releasedWork
	// clusters is how many works there were at the most.
	clusters int
}

// releasedWork is what is known of one work.
type releasedWork struct {
	// version is the one that was looked at, and step what came of it.
	version string
	step    release.Step
	// written is the spec that was written last, without the manifests, and writtenAt when.
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

// Clusters returns how many works an owner had at the most, of those that are counted and those that were counted before.
func (m *Releases) Clusters(owner string, counted int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(owner)
	known.clusters = max(known.clusters, counted)
	return known.clusters
}

// Step returns what came of the last look at a work, where it can be nothing else by now; false for a work that has to be looked at.
func (m *Releases) Step(owner string, work *workv1.ManifestWork) (release.Step, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.look(owner).works[work.UID]
	if known == nil || (known.version != work.ResourceVersion && !known.step.Final()) {
		return release.Step{}, false
	}
	return known.step, true
}

// Looked notes what came of a look at a version of a work, and returns it. What an agent says of a manifest keeps its first words: those
// with a time or an id in them are others with each try (P7).
func (m *Releases) Looked(owner string, uid types.UID, version string, step release.Step) release.Step {
	m.mu.Lock()
	before := m.work(owner, uid).step.Held // A step is never changed once it is known.
	m.mu.Unlock()
	words := make(map[string]string, len(before))
	for i := range slices.Backward(before) {
		words[before[i].Name] = before[i].Words
	}
	for i := range step.Held {
		if first, told := words[step.Held[i].Name]; told {
			step.Held[i].Words = first
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

// Repeats reports whether the same spec was written to a work less than a minute ago: what the API server made of it is something else.
func (m *Releases) Repeats(owner string, uid types.UID, spec *workv1.ManifestWorkSpec, now time.Time) bool {
	m.mu.Lock()
	var known releasedWork
	if found := m.look(owner).works[uid]; found != nil {
		known = *found
	}
	m.mu.Unlock()
	return known.written != nil && now.Before(known.writtenAt.Add(RefusedInterval)) && release.Equivalent(known.written, spec)
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
