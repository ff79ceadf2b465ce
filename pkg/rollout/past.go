package rollout

import (
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Past is what the works tell of rollouts that this hub has not seen: from before it knew the object, or from while another hub ran
// in its place (R6).
type Past struct {
	// Specs are those of another hub's works beside the template's, each once, in the order of the works.
	Specs []PastSpec
	// Surpassed says that another hub rolled out since the current revision was the stable one here. What was stable after it only
	// the works can tell, if they do.
	Surpassed bool

	// mixed says that works of this hub's own, too, hold another spec than the template's.
	mixed bool
}

// PastSpec is a spec that another hub wrote.
type PastSpec struct {
	Digest revision.Digest
	// Template is the spec. ReadPast leaves it to the caller, for whom it costs something.
	Template *workv1.ManifestWorkSpec

	works []*Work
}

// Bearer is the first work that has the spec.
func (s *PastSpec) Bearer() *Work { return s.works[0] }

// Foreign says that another hub wrote the work: it takes the labels and the annotations of this one away. Where a hand took the
// label only, the annotation still tells whose it is.
func (w *Work) Foreign() bool {
	_, applied := w.Object.Annotations[workv1alpha1.AnnotationAppliedAt]
	return w.Hash() == "" && !applied && !w.Deleting()
}

// PastInput is what ReadPast looks at.
type PastInput struct {
	Works []Work
	// Template says what today's template means.
	Template revision.Digest
	// UpdateHash is the hash of its revision; empty when there is none yet.
	UpdateHash string
	// Current is the revision that counts as the current one; nil when there is none.
	Current *Revision
	// FirstSight says that no status tells of this hub: all that bears no hash is another's.
	FirstSight bool
}

// ReadPast looks at who wrote the works, and what they hold.
//
// The current revision is surpassed where another hub wrote works, and no cluster has the current one any more: as long as one has
// it, no later revision has reached them all. A rollout of the update revision that this hub began itself is not surpassed by
// whoever goes on with it, so that one work that lost its marks takes no abort away.
func ReadPast(in *PastInput) Past {
	past := Past{Surpassed: in.surpassed()}
	for i := range in.Works {
		switch w := &in.Works[i]; {
		case w.Deleting(), w.Digest == in.Template:
		case w.Digest != "" && (w.Foreign() || (in.FirstSight && w.Hash() == "")):
			past.add(w)
		default:
			past.mixed = true
		}
	}
	return past
}

func (in *PastInput) surpassed() bool {
	if in.Current == nil || in.Current.Digest == in.Template {
		return false
	}
	foreign := false
	for i := range in.Works {
		w := &in.Works[i]
		if w.Deleting() {
			continue
		}
		if w.holds(in.Current) || (in.UpdateHash != "" && w.Hash() == in.UpdateHash) {
			return false
		}
		foreign = foreign || w.Foreign()
	}
	return foreign
}

// holds says whether a work has the content of a revision, or bears its hash.
func (w *Work) holds(rev *Revision) bool {
	return rev != nil && (w.Hash() == rev.Hash || w.Digest == rev.Digest)
}

func (p *Past) add(w *Work) {
	known := slices.IndexFunc(p.Specs, func(s PastSpec) bool { return s.Digest == w.Digest })
	if known < 0 {
		p.Specs = append(p.Specs, PastSpec{Digest: w.Digest, works: []*Work{w}})
		return
	}
	p.Specs[known].works = append(p.Specs[known].works, w)
}

// Stable is the spec that was the stable one: the only one beside the template's, where a cluster succeeded with it (R6). Empty when
// the works don't tell.
func (p *Past) Stable(now time.Time) revision.Digest {
	if p.mixed || len(p.Specs) != 1 {
		return ""
	}
	only := &p.Specs[0]
	rev := &Revision{Digest: only.Digest, Template: only.Template}
	if slices.ContainsFunc(only.works, func(w *Work) bool { return Assess(w, rev, now).State == Succeeded }) {
		return only.Digest
	}
	return ""
}
