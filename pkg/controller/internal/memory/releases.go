package memory

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/orphan"
)

// Releases holds what this process knows about the ManifestWorks of an object that is being deleted while its workloads
// stay. Decisions use only the works in the API server; this memory only saves reads.
type Releases struct {
	mu sync.Mutex
	// works is nil until the works have been listed from the API server.
	works map[types.UID]*releasedWork
	// clusters is the largest number of works seen.
	clusters int
}

// releasedWork is the state of one work.
type releasedWork struct {
	// version is the version that was checked, and step is the resulting step.
	version string
	step    orphan.Step
	// written is the spec that was last written, without the manifests, and writtenAt is when.
	written   *workv1.ManifestWorkSpec
	writtenAt time.Time
}

// Begin records that the works were listed from the API server.
func (r *Releases) Begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.works = map[types.UID]*releasedWork{}
}

// Begun reports whether the works were listed from the API server.
func (r *Releases) Begun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.works != nil
}

// End forgets the works, because the workloads should no longer stay.
func (r *Releases) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.works, r.clusters = nil, 0
}

// Clusters returns the largest number of works, now or earlier.
func (r *Releases) Clusters(counted int) int {
	r.clusters = max(r.clusters, counted)
	return r.clusters
}

// Step returns the step from the last check of a work, if it still applies; false if the work must be checked.
func (r *Releases) Step(work *workv1.ManifestWork) (orphan.Step, bool) {
	known := r.work(work.UID)
	if known.version != work.ResourceVersion && !known.step.Final() || known.version == "" {
		return orphan.Step{}, false
	}
	return known.step, true
}

// Looked records the step that the check of a work's version returned, and returns it. It keeps the agent's first
// message about each manifest, because messages with a time or an ID change with each try (P7).
func (r *Releases) Looked(uid types.UID, version string, step orphan.Step) orphan.Step {
	known := r.work(uid)
	words := make(map[string]string, len(known.step.Unreleased))
	for _, before := range slices.Backward(known.step.Unreleased) {
		words[before.Name] = before.Message
	}
	for i := range step.Unreleased {
		if first, told := words[step.Unreleased[i].Name]; told {
			step.Unreleased[i].Message = first
		}
	}
	step.Spec = nil
	known.version, known.step = version, step
	return step
}

// Wrote records the spec that was written to a work.
func (r *Releases) Wrote(uid types.UID, spec *workv1.ManifestWorkSpec, now time.Time) {
	known := r.work(uid)
	known.written, known.writtenAt = &workv1.ManifestWorkSpec{DeleteOption: spec.DeleteOption, ManifestConfigs: spec.ManifestConfigs}, now
}

// Repeats reports whether the same spec was written to a work less than a minute ago. If so, the API server stored it
// differently.
func (r *Releases) Repeats(uid types.UID, spec *workv1.ManifestWorkSpec, now time.Time) bool {
	known := r.work(uid)
	return known.written != nil && lately(known.writtenAt, now, RefusedInterval) && orphan.Equivalent(known.written, spec)
}

// work returns the state of a work. A pass takes one step for each work, so the state is not used concurrently.
func (r *Releases) work(uid types.UID) *releasedWork {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.works[uid]
	if known == nil {
		known = &releasedWork{}
		r.works[uid] = known
	}
	return known
}
