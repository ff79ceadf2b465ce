package lifecycle

import (
	"slices"

	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// inRollbackWindow reports whether an undo that begins goes to one of the last N revisions that were current, where N is set by
// spec.rollbackWindow. Such an undo reaches every cluster at once. A revision whose rollout was aborted last does not qualify.
func (c *chain) inRollbackWindow(to *revision.Revision) bool {
	window := ptr.Deref(c.Object.Spec.RollbackWindow, workv1alpha1.RollbackWindow{})
	size := int(ptr.Deref(window.Revisions, 0))
	current := c.revisionOf(c.lastComplete())
	if size <= 0 || current == nil || to.Hash == current.Hash {
		return false
	}
	former := slices.DeleteFunc(c.readable(), func(rev *revision.Revision) bool {
		_, aborted := rev.AbortedAt()
		return rev.Hash == current.Hash || !rev.WasCurrent() || aborted || !rev.Age().MayPrecede(current.Age())
	})
	slices.SortStableFunc(former, func(a, b *revision.Revision) int {
		return b.CurrentSince.Compare(a.CurrentSince)
	})
	place := slices.IndexFunc(former, func(rev *revision.Revision) bool { return rev.Hash == to.Hash })
	if place < 0 {
		return false
	}
	return place+c.History.LostSince(former[place].CurrentSince) < size // A revision that was deleted since keeps its place.
}
