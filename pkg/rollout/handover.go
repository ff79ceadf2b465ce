package rollout

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
)

// Handover is how clusters pass from one revision to another under pruneStrategy WhenAvailable.
type Handover struct {
	// Combine returns what a work holds on the way from one revision to another. Equal revisions give equal results.
	Combine func(to, from *Revision) handover.Result
	// Problem says why no object is kept at all, for a person; empty where objects are kept. Combine is not called then.
	Problem string
	// Unknown reports whether the history can't be read for the moment. Works that keep objects are left alone until it can (R28).
	Unknown bool
}

// keeps reports whether objects that a revision drops stay until the revision is available.
func (h *Handover) keeps() bool { return h != nil && h.Problem == "" }

// leavesAlone reports whether a work keeps objects, and the history that shows which ones can't be read: a write of the exact revision would
// delete them (R28).
func (h *Handover) leavesAlone(w *Work) bool {
	return h != nil && h.Unknown && w != nil && w.KeptRevision() != ""
}

// Presumed returns what a work that keeps objects is taken for while the history can't be read: its revision, and after it whatever it holds
// beside it. It is nil for any other work. So the cluster keeps its slot, and is judged by the manifests of the revision (R30).
func (h *Handover) Presumed(w *Work, of *Revision) *handover.Combined {
	if !h.leavesAlone(w) || of == nil || of.Template == nil || w.Hash() != of.Hash || w.Digest == of.Digest {
		return nil
	}
	return &handover.Combined{Digest: w.Digest, Manifests: len(of.Template.Workload.Manifests)}
}

// Combined returns what a work of a revision holds together with the objects of another one; nil where one of them can't be read, and where
// nothing is kept (R29).
func (h *Handover) Combined(of, kept *Revision) *handover.Combined {
	if !h.keeps() || of == nil || kept == nil || of.Template == nil || kept.Template == nil {
		return nil
	}
	return h.Combine(of, kept).Combined
}

// KeptRevision is the hash of the revision whose objects the work keeps beside those of its own; empty where it keeps none (R28).
func (w *Work) KeptRevision() string {
	return w.Object.Annotations[workv1alpha1.AnnotationKeptRevision]
}

// InHandover reports whether the work holds its revision together with objects of another one (R29).
func (w *Work) InHandover() bool {
	return w.Combined != nil && (w.Digest == w.Combined.Digest || w.AcceptedAs != "" && w.AcceptedAs == w.Combined.Digest)
}

// storedAsWritten reports whether the spec of a work that is at a revision is what the hub wrote, and not what the API server made of it.
func (w *Work) storedAsWritten(rev *Revision) bool {
	return w.Digest == rev.Digest || w.Combined != nil && w.Digest == w.Combined.Digest
}

// byHash finds a readable revision; nil where there is none.
func (s *Snapshot) byHash(hash string) *Revision {
	return s.find(func(rev *Revision) bool { return rev.Hash == hash })
}

func (s *Snapshot) find(is func(*Revision) bool) *Revision {
	for _, rev := range []*Revision{s.Update, s.Current} {
		if rev != nil && is(rev) {
			return rev
		}
	}
	if i := slices.IndexFunc(s.Older, is); i >= 0 {
		return s.Older[i]
	}
	return nil
}

// servedLast returns the revision that a cluster served last, on its way to another one (R27): the one whose exact spec its work has. In a handover
// it is the new one where that has settled, and the old one otherwise. It is nil where no readable revision is that. Where the new one succeeds,
// and the success is not settled, nobody knows yet: ripe is when that changes.
func (s *Snapshot) servedLast(w *Work, to *Revision) (served *Revision, ripe time.Time) {
	exact := s.find(func(rev *Revision) bool {
		return rev.Digest == w.Digest || w.AcceptedAs != "" && rev.Digest == w.AcceptedAs
	})
	if exact != nil {
		return exact, time.Time{}
	}
	kept, own := s.byHash(w.KeptRevision()), s.byHash(w.Hash())
	if !w.InHandover() || own == nil || kept == nil {
		if kept != nil {
			return kept, time.Time{}
		}
		return own, time.Time{}
	}
	return s.servedInHandover(w, own, kept, to)
}

// servedInHandover is servedLast for a work that holds the revision own together with objects of kept.
func (s *Snapshot) servedInHandover(w *Work, own, kept, to *Revision) (served *Revision, ripe time.Time) {
	switch {
	case w.settled(own):
		return own, time.Time{}
	case Assess(w, own, s.Now).State != Succeeded:
		return kept, time.Time{}
	case kept.Hash == to.Hash: // On the way back to the kept revision nothing is lost with the new one's objects beside it.
		return own, time.Time{}
	case !w.At(own): // Somebody removed the time when it was written: no success of it ever settles.
		return kept, time.Time{}
	}
	phase, ripe := soakPhase(s, w, time.Time{})
	if phase != succeeded {
		return nil, ripe
	}
	return own, time.Time{}
}

// historyWait is how often the hub looks whether the history can be read again.
const historyWait = 15 * time.Second

// form is what a write of a revision puts into a work.
type form struct {
	// revision is the one to write, with a combined template where objects are kept.
	revision *Revision
	// kept is the hash of the revision whose objects are kept.
	kept string
	// ripe is when it is known; zero for now.
	ripe time.Time
	// unknown says that no readable revision holds what the cluster served last: nothing of it can be kept.
	unknown bool
}

// formOf returns what a work gets on the way of its cluster to a revision: the exact one, or the one combined with what the cluster served last (R28).
// A work that holds the combined one already is to be trimmed. While the history can't be read, a work that keeps objects is not written.
func (s *Snapshot) formOf(w *Work, to *Revision) form {
	if s.Handover.leavesAlone(w) {
		return form{ripe: s.Now.Add(historyWait)}
	}
	if !s.Handover.keeps() || w == nil || to.Template == nil || w.At(to) {
		return form{revision: to}
	}
	from, ripe := s.servedLast(w, to)
	switch {
	case !ripe.IsZero():
		return form{ripe: ripe}
	case from == nil || from.Template == nil:
		return form{revision: to, unknown: true}
	case from.Hash == to.Hash || from.Digest == to.Digest:
		return form{revision: to}
	}
	combined := s.Handover.Combine(to, from).Combined
	if combined == nil {
		return form{revision: to}
	}
	with := *to
	with.Template, with.Digest = combined.Template, combined.Digest
	return form{revision: &with, kept: from.Hash}
}

// noteNotKept notes which objects of the revision that clusters leave are deleted at once under pruneStrategy WhenAvailable, and why.
func (p *Plan) noteNotKept(s *Snapshot, sel *selection) {
	from := s.Current
	if s.Aborted {
		from = s.Update
	}
	switch {
	case s.Handover == nil:
	case !s.Handover.keeps():
		p.NotKept = append(p.NotKept, s.Handover.Problem)
		if slices.ContainsFunc(s.Works, func(w Work) bool { return s.Handover.leavesAlone(&w) }) {
			p.NotKept = append(p.NotKept, "ManifestWorks that keep objects of an older revision are not written until the history can be read again")
		}
	case p.Desired == nil || from == nil || from.Hash == p.Desired.Hash || from.Template == nil || p.Desired.Template == nil:
	default:
		result := s.Handover.Combine(p.Desired, from)
		p.NotKept, p.Exceeded = append(p.NotKept, result.NotKept...), result.Exceeded
	}
	if s.unknownServed(sel) {
		p.NotKept = append(p.NotKept, "some clusters have a spec that no readable ControllerRevision holds")
	}
}

// unknownServed reports whether a work is to get the desired revision, and no readable one holds what its cluster served last. Whether it is
// written in this pass makes no difference: what is reported stays the same between two retries (P7).
func (s *Snapshot) unknownServed(sel *selection) bool {
	if !s.Handover.keeps() || s.desired() == nil {
		return false
	}
	for cluster, w := range sel.byCluster {
		_, selected := sel.owners[cluster]
		if (selected || s.Aborted) && !w.Deleting() && s.formOf(w, s.desired()).unknown {
			return true
		}
	}
	return false
}

// KeptRevisions are the hashes of the revisions whose objects the plan's writes keep, those that a pause holds back among them. Works in hand may not
// name them yet (R5).
func (p *Plan) KeptRevisions() []string {
	var kept []string
	for _, w := range p.allWrites() {
		if w.KeptRevision != "" && !slices.Contains(kept, w.KeptRevision) {
			kept = append(kept, w.KeptRevision)
		}
	}
	return kept
}

// Judged returns the work with the conditions by which it is judged. In a handover these are those of the revision's own manifests, as the agent would
// report them for a work that holds nothing else (R30).
func (w *Work) Judged() *Work {
	if !w.InHandover() {
		return w
	}
	own := w.ownManifests()
	object := &workv1.ManifestWork{ObjectMeta: w.Object.ObjectMeta}
	object.Status.ResourceStatus.Manifests = own
	add := func(c *metav1.Condition) {
		if c != nil {
			object.Status.Conditions = append(object.Status.Conditions, *c)
		}
	}
	add(meta.FindStatusCondition(w.Object.Status.Conditions, workv1.WorkComplete))
	add(w.summed(own, workv1.WorkApplied, w.Observed, true))
	if available := meta.FindStatusCondition(w.Object.Status.Conditions, workv1.WorkAvailable); available != nil && w.Observed(available) {
		// That of a manifest has no generation. The work's own shows that the agent has looked since.
		found := w.summed(own, workv1.WorkAvailable, func(*metav1.Condition) bool { return true }, true)
		if found != nil {
			found.ObservedGeneration = available.ObservedGeneration
		}
		add(found)
	}
	add(w.summed(own, workv1.WorkProgressing, w.Observed, false))
	add(w.summed(own, workv1.WorkDegraded, w.Observed, false))
	judged := *w
	judged.Object, judged.Combined = object, nil
	return &judged
}

// ownManifests are what the agent reports of the manifests of the work's own revision, by their places.
func (w *Work) ownManifests() []workv1.ManifestCondition {
	own := make([]workv1.ManifestCondition, w.Combined.Manifests)
	for i := range w.Object.Status.ResourceStatus.Manifests {
		reported := &w.Object.Status.ResourceStatus.Manifests[i]
		if place := int(reported.ResourceMeta.Ordinal); place >= 0 && place < len(own) {
			own[place] = *reported
		}
	}
	return own
}

// summed returns one condition for those of several manifests: it is the one that changed last where all agree, and otherwise one that keeps the work
// from being well. It is nil where none counts or, if each manifest needs one, where one has none.
func (w *Work) summed(manifests []workv1.ManifestCondition, conditionType string, counts func(*metav1.Condition) bool, each bool) *metav1.Condition {
	good := metav1.ConditionFalse
	if each {
		good = metav1.ConditionTrue
	}
	var sum *metav1.Condition
	for i := range manifests {
		found := meta.FindStatusCondition(manifests[i].Conditions, conditionType)
		switch {
		case found == nil || !counts(found):
			if each {
				return nil
			}
		case sum == nil || sum.Status == good && (found.Status != good || found.LastTransitionTime.After(sum.LastTransitionTime.Time)):
			sum = found.DeepCopy()
		}
	}
	return sum
}

// TrimHandover keeps what Judged asks of the manifests of a work that keeps objects of another revision.
func TrimHandover(manifests []workv1.ManifestCondition) []workv1.ManifestCondition {
	kept := make([]workv1.ManifestCondition, 0, len(manifests))
	for i := range manifests {
		trimmed := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Ordinal: manifests[i].ResourceMeta.Ordinal}}
		for _, condition := range manifests[i].Conditions {
			switch condition.Type {
			case workv1.ManifestApplied, workv1.ManifestAvailable, workv1.ManifestProgressing, workv1.ManifestDegraded:
				condition.Message = ""
				trimmed.Conditions = append(trimmed.Conditions, condition)
			}
		}
		kept = append(kept, trimmed)
	}
	return kept
}
