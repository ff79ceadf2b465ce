package rollout

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// MaxForeignSpecs is how many specs of another hub become revisions at most (R6).
const MaxForeignSpecs = 10

// stableClusters is how many clusters must have a spec before it counts as the stable one, and must have lost this hub's marks before
// another hub is believed to have run: an agent can edit the works of its own cluster, and must not decide for the others (R6).
const stableClusters = 2

// ForeignHistory is what the works show of rollouts that this hub has not seen: from before it knew the object, or from while another hub ran
// in its place (R6).
type ForeignHistory struct {
	// Specs are those of another hub's works beside the template's, those on the most clusters first. There are none where this hub
	// knows the object and no other one ran since.
	Specs []ForeignSpec
	// Replaced says that another hub ran since this one knew the object: it wrote every work.
	Replaced bool
	// Surpassed says that another hub rolled out since the current revision was the stable one here. What was stable after it only
	// the works can show, if they do.
	Surpassed bool

	// mixed says that works of this hub's own, too, hold another spec than the template's.
	mixed bool
	// needed is on how many clusters a spec must be to count as the stable one.
	needed int
}

// ForeignSpec is a spec that another hub wrote.
type ForeignSpec struct {
	Digest revision.Digest
	// Template is the spec. ReadForeignHistory leaves it to the caller, for whom it costs something.
	Template *workv1.ManifestWorkSpec

	works []*Work
}

// SampleWork is the first work that has the spec.
func (s *ForeignSpec) SampleWork() *Work { return s.works[0] }

// OnlyOn is the cluster that has the spec where it is on one alone; empty otherwise.
func (s *ForeignSpec) OnlyOn() string {
	if s.clusters() != 1 {
		return ""
	}
	return s.SampleWork().Cluster()
}

// clusters is on how many clusters the spec is.
func (s *ForeignSpec) clusters() int {
	seen := make(map[string]bool, len(s.works))
	for _, w := range s.works {
		seen[w.Cluster()] = true
	}
	return len(seen)
}

// Foreign reports whether another hub wrote the work: it takes the labels and the annotations of this one away. Where a hand took the
// label only, the annotation still shows whose it is.
func (w *Work) Foreign() bool {
	_, applied := w.Object.Annotations[workv1alpha1.AnnotationAppliedAt]
	return w.Hash() == "" && !applied && !w.Deleting()
}

// ForeignHistoryInput is what ReadForeignHistory looks at.
type ForeignHistoryInput struct {
	// Owner is the ManifestWorkReplicaSet.
	Owner metav1.Object
	// Refs are its placementRefs that count, in spec order, and IgnoredRefs is how many more there are.
	Refs        []Ref
	IgnoredRefs int
	// Works are all works that have its owner label.
	Works []Work
	// Template says what today's template means.
	Template revision.Digest
	// Current is the revision that counts as the current one; nil when there is none.
	Current *Revision
	// FirstSight says that this hub never rolled the object out: all that has no hash is another's.
	FirstSight bool
}

// counted are the works that show the past: those of selected clusters under a name that a hub gives. A work without a hash that is older
// than its owner was not made for it: somebody gave it the owner label.
func (in *ForeignHistoryInput) counted() (works []Work, needed int) {
	owners := Owners(in.Refs)
	created := in.Owner.GetCreationTimestamp()
	for i := range in.Works {
		w := &in.Works[i]
		_, selected := owners[w.Cluster()]
		if selected && !w.Deleting() && IsWorkName(in.Owner, w.Object.Name) && (w.Hash() != "" || !w.Object.CreationTimestamp.Before(&created)) {
			works = append(works, *w)
		}
	}
	if len(owners) == 1 && in.selectionKnown() {
		return works, 1
	}
	return works, stableClusters
}

// selectionKnown reports whether it is known which clusters are selected.
func (in *ForeignHistoryInput) selectionKnown() bool {
	return in.IgnoredRefs == 0 && !slices.ContainsFunc(in.Refs, func(ref Ref) bool { return !ref.settled() })
}

// ReadForeignHistory looks at who wrote the works, and what they hold.
//
// Another hub ran where it wrote every work: as long as one work has what this hub wrote, no later revision has reached all
// clusters, and works that lost the marks may have lost them to their agents. The current revision is surpassed where another
// hub ran and no cluster has it any more.
//
// Where one cluster is selected, its agent may have taken the marks off. So nothing of its work becomes history. The current revision counts as
// surpassed all the same: an abort that does not come is less than one that goes back further than the cluster ever was.
func ReadForeignHistory(in *ForeignHistoryInput) ForeignHistory {
	works, needed := in.counted()
	past := ForeignHistory{needed: needed}
	foreign, all := foreignClusters(works)
	allForeign := !in.FirstSight && in.selectionKnown() && all
	past.Replaced = allForeign && foreign >= stableClusters
	past.Surpassed = allForeign && foreign >= needed && in.left(works)
	if !in.FirstSight && !past.Replaced {
		return past
	}
	for i := range works {
		switch w := &works[i]; {
		case w.Digest == in.Template:
		case in.anotherHubs(w):
			past.add(w)
		default:
			past.mixed = true
		}
	}
	slices.SortStableFunc(past.Specs, func(a, b ForeignSpec) int { return cmp.Compare(b.clusters(), a.clusters()) })
	return past
}

// RolledOut reports whether another hub wrote every work of a selected cluster with a revision, on as many clusters as it takes to believe that, and
// whether every one of them succeeded with it. Where it is on one cluster alone, only is that cluster (R6).
func (in *ForeignHistoryInput) RolledOut(rev *Revision, now time.Time) (everywhere, succeeded bool, only string) {
	works, needed := in.counted()
	foreign, all := foreignClusters(works)
	if !all || foreign < needed || !in.selectionKnown() {
		return false, false, ""
	}
	if foreign == 1 {
		only = works[0].Cluster()
	}
	succeeded = true
	for i := range works {
		if works[i].Digest != rev.Digest {
			return false, false, ""
		}
		succeeded = succeeded && Assess(&works[i], rev, now).State == Succeeded
	}
	return true, succeeded, only
}

// anotherHubs reports whether the spec of a work is known, and another hub wrote it.
func (in *ForeignHistoryInput) anotherHubs(w *Work) bool {
	return w.Digest != "" && (w.Foreign() || in.FirstSight && w.Hash() == "")
}

// foreignClusters returns on how many clusters works are another hub's, and whether all works are.
func foreignClusters(works []Work) (n int, all bool) {
	foreign := map[string]bool{}
	for i := range works {
		if !works[i].Foreign() {
			return len(foreign), false
		}
		foreign[works[i].Cluster()] = true
	}
	return len(foreign), len(works) > 0
}

// left reports whether no cluster has the current revision any more.
func (in *ForeignHistoryInput) left(works []Work) bool {
	if in.Current == nil || in.Current.Digest == in.Template {
		return false
	}
	return !slices.ContainsFunc(works, func(w Work) bool { return w.holds(in.Current) })
}

// holds reports whether a work has the content of a revision, or has its hash.
func (w *Work) holds(rev *Revision) bool {
	return rev != nil && (w.Hash() == rev.Hash || w.Digest == rev.Digest)
}

func (p *ForeignHistory) add(w *Work) {
	known := slices.IndexFunc(p.Specs, func(s ForeignSpec) bool { return s.Digest == w.Digest })
	if known < 0 {
		p.Specs = append(p.Specs, ForeignSpec{Digest: w.Digest, works: []*Work{w}})
		return
	}
	p.Specs[known].works = append(p.Specs[known].works, w)
}

// Stable is the spec that was the stable one: the only one beside the template's, on at least two clusters where that many are selected,
// one of which succeeded with it (R6). Empty when the works don't show it.
func (p *ForeignHistory) Stable(now time.Time) revision.Digest {
	if p.mixed || len(p.Specs) != 1 || p.Specs[0].clusters() < p.needed {
		return ""
	}
	only := &p.Specs[0]
	rev := &Revision{Digest: only.Digest, Template: only.Template}
	if slices.ContainsFunc(only.works, func(w *Work) bool { return Assess(w, rev, now).State == Succeeded }) {
		return only.Digest
	}
	return ""
}
