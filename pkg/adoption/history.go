package adoption

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// MaxSpecs is the maximum number of another hub's specs that become revisions.
const MaxSpecs = 10

// stableClusters is the number of clusters that must have a spec before it counts as the stable one. It is also the number of clusters that
// must have lost this hub's hash and time before another hub is assumed to have run. An agent can edit the works of its own cluster, and
// must not decide for other clusters.
const stableClusters = 2

// History is the history of rollouts by other hubs, as read from the works: before this hub knew the object, or while another hub ran in
// place of this hub.
type History struct {
	// Specs are the specs of another hub's works, except that of the template. Specs on more clusters come first. Specs is empty if this hub
	// knows the object and no other hub has run since.
	Specs []Spec
	// Replaced is true if another hub has run since this hub knew the object: that hub wrote every work.
	Replaced bool
	// Surpassed is true if another hub has rolled out since this hub recorded the current revision as stable. Only the works can show which
	// revision was stable after that.
	Surpassed bool

	// mixed is true if works of this hub, too, have a spec other than the template's.
	mixed bool
	// needed is the number of clusters that must have a spec before it counts as the stable one.
	needed int
}

// Spec is a spec that another hub wrote.
type Spec struct {
	Digest revision.Digest
	// Template is the spec. The caller of ReadHistory sets it, because reading it is expensive.
	Template *workv1.ManifestWorkSpec

	works []*work.Work
}

// SampleWork returns the first work that has the spec.
func (s *Spec) SampleWork() *work.Work { return s.works[0] }

// OnlyOn returns the cluster that has the spec if it is the only one; empty otherwise.
func (s *Spec) OnlyOn() string {
	if s.clusters() != 1 {
		return ""
	}
	return s.SampleWork().Cluster()
}

func (s *Spec) clusters() int {
	seen := make(map[string]bool, len(s.works))
	for _, w := range s.works {
		seen[w.Cluster()] = true
	}
	return len(seen)
}

// Input is the input of ReadHistory.
type Input struct {
	// Owner is the ManifestWorkReplicaSet.
	Owner metav1.Object
	// Refs are the placementRefs that are not ignored, in spec order. IgnoredRefs is the number of ignored placementRefs.
	Refs        []placement.Ref
	IgnoredRefs int
	// Works are all works with the object's owner label.
	Works []work.Work
	// Template is the digest of the template in the spec.
	Template revision.Digest
	// Current is the current revision; nil if there is none.
	Current *work.Revision
	// FirstSight is true if this hub never rolled out the object: every work without a hash is another hub's.
	FirstSight bool
}

// counted returns the works that count as history: those of selected clusters with a name that a hub uses. A work without a hash that is
// older than its owner was not created for that owner: a user added the owner label.
func (in *Input) counted() (works []work.Work, needed int) {
	owners := placement.Owners(in.Refs)
	created := in.Owner.GetCreationTimestamp()
	for i := range in.Works {
		w := &in.Works[i]
		_, selected := owners[w.Cluster()]
		if selected && !w.Deleting() && work.IsName(in.Owner, w.Object.Name) && (w.Hash() != "" || !w.Object.CreationTimestamp.Before(&created)) {
			works = append(works, *w)
		}
	}
	if len(owners) == 1 && in.selectionKnown() {
		return works, 1
	}
	return works, stableClusters
}

func (in *Input) selectionKnown() bool {
	return in.IgnoredRefs == 0 && !slices.ContainsFunc(in.Refs, func(ref placement.Ref) bool { return !ref.Settled() })
}

// ReadHistory returns the history that the works show: which hub wrote them, and their specs.
//
// Another hub is assumed to have run if it wrote every work. As long as one work has this hub's hash or time, no later revision has
// reached all clusters, and the agents may have removed the hash and time from the other works. The current revision is surpassed if
// another hub ran and no cluster has that revision any more.
//
// If only one cluster is selected, its agent may have removed the hash and the time, so its work does not become history. The current
// revision still counts as surpassed: a missing abort does less harm than an abort to a revision that the cluster left long ago.
func ReadHistory(in *Input) History {
	works, needed := in.counted()
	past := History{needed: needed}
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
	slices.SortStableFunc(past.Specs, func(a, b Spec) int { return cmp.Compare(b.clusters(), a.clusters()) })
	return past
}

// RolledOut reports whether another hub wrote the revision to the works of all selected clusters, if these are enough, and whether all of
// them succeeded with it. If only one cluster has the revision, only is the name of that cluster.
func (in *Input) RolledOut(rev *work.Revision, now time.Time) (everywhere, succeeded bool, only string) {
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
		succeeded = succeeded && work.Assess(&works[i], rev, now).State == work.Succeeded
	}
	return true, succeeded, only
}

// anotherHubs reports whether the spec of a work is known, and another hub wrote it.
func (in *Input) anotherHubs(w *work.Work) bool {
	return w.Digest != "" && (w.Foreign() || in.FirstSight && w.Hash() == "")
}

// foreignClusters returns the number of clusters with works from another hub, and whether another hub wrote all works.
func foreignClusters(works []work.Work) (n int, all bool) {
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
func (in *Input) left(works []work.Work) bool {
	if in.Current == nil || in.Current.Digest == in.Template {
		return false
	}
	return !slices.ContainsFunc(works, func(w work.Work) bool { return holds(&w, in.Current) })
}

// holds reports whether a work has the content of a revision, or has its hash.
func holds(w *work.Work, rev *work.Revision) bool {
	return rev != nil && (w.Hash() == rev.Hash || w.Digest == rev.Digest)
}

func (p *History) add(w *work.Work) {
	known := slices.IndexFunc(p.Specs, func(s Spec) bool { return s.Digest == w.Digest })
	if known < 0 {
		p.Specs = append(p.Specs, Spec{Digest: w.Digest, works: []*work.Work{w}})
		return
	}
	p.Specs[known].works = append(p.Specs[known].works, w)
}

// Stable returns the digest of the spec that was stable: the only spec other than the template's. At least two clusters must have it, if
// that many are selected, and at least one of them must have succeeded with it. It is empty if the works do not show such a spec.
func (p *History) Stable(now time.Time) revision.Digest {
	if p.mixed || len(p.Specs) != 1 || p.Specs[0].clusters() < p.needed {
		return ""
	}
	only := &p.Specs[0]
	rev := &work.Revision{Digest: only.Digest, Template: only.Template}
	if slices.ContainsFunc(only.works, func(w *work.Work) bool { return work.Assess(w, rev, now).State == work.Succeeded }) {
		return only.Digest
	}
	return ""
}
