package revision

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// History holds the revisions of an owner, sorted by number, the oldest first.
type History struct {
	// Revisions are the revisions that count, including unreadable ones.
	Revisions []Revision
	// Ignored lists the objects that claim to be revisions of this owner but don't count, with the reason.
	Ignored []string
	// Disowned are the names of objects that could be revisions of this owner, but have no controller: a user removed their ownerReference.
	Disowned []string
}

// NewHistory returns the revisions that this owner controls and whose names match their hashes. Ignored lists the others.
func NewHistory(owner metav1.Object, revisions []Revision) History {
	var h History
	for i := range revisions {
		rev := &revisions[i]
		switch {
		case metav1.GetControllerOfNoCopy(rev.Object) == nil:
			h.Disowned = append(h.Disowned, rev.Object.Name)
		case !metav1.IsControlledBy(rev.Object, owner):
			// It belongs to another owner, or to an earlier object with our name: the garbage collector deletes it.
		case rev.Object.Name != Name(owner.GetName(), rev.Hash):
			h.Ignored = append(h.Ignored, fmt.Sprintf(
				"ControllerRevision %s claims the hash %q and is ignored: a revision with that hash has the name %s",
				rev.Object.Name, rev.Hash, Name(owner.GetName(), rev.Hash)))
		default:
			h.Revisions = append(h.Revisions, *rev)
		}
	}
	slices.SortFunc(h.Revisions, func(a, b Revision) int { return compare(a.Object, b.Object) })
	slices.Sort(h.Ignored)
	return h
}

// compare orders by number, then age, then name, like the history of the apps/v1 controllers. Number 0 is the exception: a revision gets it
// if it existed before all others and no lower number is left (LowerNumber). Of two such revisions, the one that was created later comes
// first.
func compare(a, b *appsv1.ControllerRevision) int {
	age := a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	if a.Revision == 0 {
		age = -age
	}
	return cmp.Or(cmp.Compare(a.Revision, b.Revision), age, cmp.Compare(a.Name, b.Name))
}

// ByHash returns the revision with a hash, readable or not; nil if there is none.
func (h *History) ByHash(hash string) *Revision {
	if hash == "" {
		return nil
	}
	for i := range h.Revisions {
		if h.Revisions[i].Hash == hash {
			return &h.Revisions[i]
		}
	}
	return nil
}

// ByDigest returns the newest revision with this content; nil if there is none.
func (h *History) ByDigest(digest Digest) *Revision {
	for i := len(h.Revisions) - 1; i >= 0; i-- {
		if rev := &h.Revisions[i]; rev.Err == nil && rev.Digest == digest {
			return rev
		}
	}
	return nil
}

// Newest returns the revision with the highest number; nil if there is none.
func (h *History) Newest() *Revision {
	if len(h.Revisions) == 0 {
		return nil
	}
	return &h.Revisions[len(h.Revisions)-1]
}

// NextNumber returns the highest number plus one.
func (h *History) NextNumber() int64 {
	if newest := h.Newest(); newest != nil {
		return newest.Object.Revision + 1
	}
	return 1
}

// LowerNumber returns the lowest number minus one, for a revision that existed before the others. Numbers are never below 0.
func (h *History) LowerNumber() int64 {
	if len(h.Revisions) == 0 {
		return 1
	}
	return max(0, h.Revisions[0].Object.Revision-1)
}

// Limit returns how many revisions are kept in addition to the live ones, according to spec.revisionHistoryLimit. A number above the
// bound, stored under an older CRD, counts as the bound.
func Limit(spec *int32) int {
	return min(max(0, int(ptr.Deref(spec, workv1alpha1.DefaultRevisionHistoryLimit))), workv1alpha1.MaxRevisionHistoryLimit)
}

// Surplus returns the revisions to prune under a limit, the oldest first. It never returns a live revision, or any of the newest other
// revisions up to the limit.
func (h *History) Surplus(live sets.Set[string], limit int) []*appsv1.ControllerRevision {
	var others []*appsv1.ControllerRevision
	for i := range h.Revisions {
		if !live.Has(h.Revisions[i].Hash) {
			others = append(others, h.Revisions[i].Object)
		}
	}
	return others[:max(0, len(others)-max(0, limit))]
}
