package revision

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// History is what an owner's revisions record, sorted by number, the oldest first.
type History struct {
	// Revisions are those that count, the unreadable ones among them.
	Revisions []Revision
	// Ignored says which objects claim to be revisions of this owner and don't count, and why.
	Ignored []string
	// Disowned are the names of objects that could be revisions of this owner, but that nobody controls: somebody removed their
	// ownerReference.
	Disowned []string
}

// NewHistory takes the revisions that this owner controls and that have the name that their
// hash gives them (R2); the others are named in Ignored.
func NewHistory(owner metav1.Object, revisions []Revision) History {
	var h History
	for i := range revisions {
		rev := &revisions[i]
		switch {
		case metav1.GetControllerOfNoCopy(rev.Object) == nil:
			h.Disowned = append(h.Disowned, rev.Object.Name)
		case !metav1.IsControlledBy(rev.Object, owner):
			// Another owner's, or one of an earlier object with our name: the garbage collector's business.
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

// compare orders by number, then age, then name, as the history of the apps/v1 controllers is ordered. Number 0 is the exception: a
// revision gets it if it existed before all others and no lower number is left (LowerNumber). Of two, the one created later comes first.
func compare(a, b *appsv1.ControllerRevision) int {
	age := a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	if a.Revision == 0 {
		age = -age
	}
	return cmp.Or(cmp.Compare(a.Revision, b.Revision), age, cmp.Compare(a.Name, b.Name))
}

// ByHash finds the revision with a hash, readable or not; nil when there is none.
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

// ByDigest finds the newest revision with this content (R1); nil when there is none.
func (h *History) ByDigest(digest Digest) *Revision {
	for i := len(h.Revisions) - 1; i >= 0; i-- {
		if rev := &h.Revisions[i]; rev.Err == nil && rev.Digest == digest {
			return rev
		}
	}
	return nil
}

// LatestCurrent finds the revision that became the current one last, as the revisions themselves record
// it (R16); nil when none ever did.
func (h *History) LatestCurrent() *Revision { return h.latest((*Revision).CurrentSince) }

// LatestSurpassed finds the revision that was the current one when another hub rolled out past it (R6), the last one; nil when
// there is none.
func (h *History) LatestSurpassed() *Revision { return h.latest((*Revision).SurpassedAt) }

// latest returns the revision that records the latest time of something; nil when none records any.
func (h *History) latest(recorded func(*Revision) (time.Time, bool)) *Revision {
	var found *Revision
	var latest time.Time
	for i := range h.Revisions {
		if at, ok := recorded(&h.Revisions[i]); ok && (found == nil || at.After(latest)) {
			found, latest = &h.Revisions[i], at
		}
	}
	return found
}

// NextCurrentSince is since when a revision that becomes the current one now is that: after all others, also when the clock went back.
func (h *History) NextCurrentSince(now time.Time) time.Time {
	if _, latest := h.lastCurrent(); !now.After(latest) {
		return latest.Add(time.Nanosecond)
	}
	return now
}

// FormerCurrents are the revisions that record that they were the current one, the latest last.
func (h *History) FormerCurrents() []*Revision {
	var found []*Revision
	for i := range h.Revisions {
		if _, ok := h.Revisions[i].CurrentSince(); ok {
			found = append(found, &h.Revisions[i])
		}
	}
	slices.SortStableFunc(found, func(a, b *Revision) int {
		since, _ := a.CurrentSince()
		other, _ := b.CurrentSince()
		return since.Compare(other)
	})
	return found
}

// Newest is the revision with the largest number; nil when there is none.
func (h *History) Newest() *Revision {
	if len(h.Revisions) == 0 {
		return nil
	}
	return &h.Revisions[len(h.Revisions)-1]
}

// NextNumber is one more than the largest number (R3).
func (h *History) NextNumber() int64 {
	if newest := h.Newest(); newest != nil {
		return newest.Object.Revision + 1
	}
	return 1
}

// LowerNumber is one below the smallest number, for a revision that was there before the others (R6). Numbers don't go
// below 0.
func (h *History) LowerNumber() int64 {
	if len(h.Revisions) == 0 {
		return 1
	}
	return max(0, h.Revisions[0].Object.Revision-1)
}

// Limit is how many revisions are kept beside the live ones, by what spec.revisionHistoryLimit says: a larger number than the bound,
// which an older CRD stored, counts as the bound (R5).
func Limit(spec *int32) int {
	return min(max(0, int(ptr.Deref(spec, workv1alpha1.DefaultRevisionHistoryLimit))), workv1alpha1.MaxRevisionHistoryLimit)
}

// Surplus lists, the oldest first, the revisions that go under a limit: live ones never, and of the
// others all but the newest limit (R5).
func (h *History) Surplus(live sets.Set[string], limit int) []*appsv1.ControllerRevision {
	var others []*appsv1.ControllerRevision
	for i := range h.Revisions {
		if !live.Has(h.Revisions[i].Hash) {
			others = append(others, h.Revisions[i].Object)
		}
	}
	return others[:max(0, len(others)-max(0, limit))]
}
