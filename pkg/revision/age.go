package revision

import (
	"strconv"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Age shows which of two revisions of an owner was created first. Their numbers do not show it, because an undo changes them.
type Age struct {
	// Created is when the revision was created first, in whole seconds as creation timestamps are.
	Created time.Time
	// Generation is the generation of the owner that the revision was made from; 0 if unknown.
	Generation int64
}

// Age returns the age of the revision. A revision that returned after it had been deleted keeps the time of its first creation. The
// generation from which it was created again does not count.
func (r *Revision) Age() Age {
	if !r.FirstCreated.IsZero() {
		return Age{Created: r.FirstCreated.UTC().Truncate(time.Second)}
	}
	age := Age{Created: r.Object.CreationTimestamp.UTC().Truncate(time.Second)}
	if generation, err := strconv.ParseInt(r.Object.Annotations[workv1alpha1.AnnotationGeneration], 10, 64); err == nil {
		age.Generation = generation
	}
	return age
}

// MayPrecede reports whether a revision may have been created before another one. Generations only grow, while the API server's clock may
// be set back. If a generation is unknown, the times decide; if they are equal, the result is true.
func (a Age) MayPrecede(other Age) bool {
	if a.Generation != 0 && other.Generation != 0 {
		return a.Generation <= other.Generation
	}
	return !a.Created.After(other.Created)
}
