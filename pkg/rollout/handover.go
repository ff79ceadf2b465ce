package rollout

import (
	"slices"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Handover is how clusters pass from one revision to another under pruneStrategy WhenAvailable.
type Handover struct {
	// Combine returns the content of a work that changes from one revision to another. Equal revisions give equal results.
	Combine func(to, from *work.Revision) handover.Result
	// Problem is a message for users with the reason why no object is kept; empty if objects are kept. If it is set, Combine is not called.
	Problem string
	// Unknown is true while the history can't be read. Works that keep objects are not written until it can be read again.
	Unknown bool
}

// keeps reports whether objects that a revision drops stay until the revision is available.
func (h *Handover) keeps() bool { return h != nil && h.Problem == "" }

// leavesAlone reports whether a work must not be written because it keeps objects, and the history that shows them can't be read. A write
// of the exact revision would delete them.
func (h *Handover) leavesAlone(w *work.Work) bool {
	return h != nil && h.Unknown && w != nil && w.KeptRevision() != ""
}

// Content returns the content of a work that keeps objects of another revision; nil if the work keeps no objects, or if a revision can't
// be read. While the history can't be read, Content returns the presumed content: the manifests of the work's revision, followed by any
// others. The cluster then keeps its slot, and is judged by the manifests of the revision.
func (h *Handover) Content(w *work.Work, byHash map[string]*work.Revision) *handover.Combined {
	of, kept := byHash[w.Hash()], byHash[w.KeptRevision()]
	if of == nil || of.Template == nil {
		return nil
	}
	if h.keeps() && kept != nil && kept.Template != nil {
		if combined := h.Combine(of, kept).Combined; combined != nil {
			return combined
		}
	}
	if h.leavesAlone(w) && w.Digest != of.Digest {
		return &handover.Combined{Digest: w.Digest, Manifests: len(of.Template.Workload.Manifests)}
	}
	return nil
}

// byHash returns the readable revision with a hash; nil if there is none.
func (s *Snapshot) byHash(hash string) *work.Revision {
	return s.find(func(rev *work.Revision) bool { return rev.Hash == hash })
}

func (s *Snapshot) find(is func(*work.Revision) bool) *work.Revision {
	for _, rev := range []*work.Revision{s.Update, s.Current} {
		if rev != nil && is(rev) {
			return rev
		}
	}
	if i := slices.IndexFunc(s.Older, is); i >= 0 {
		return s.Older[i]
	}
	return nil
}

// servedLast returns the revision that a cluster served last, before the revision to: the revision whose exact spec its work has. In a
// handover, it is the new revision if its success has settled, and the old revision otherwise. It is nil if no readable revision matches.
// If the success of the new revision has not settled, the answer is not known yet, and ripe is the time at which it will be.
func (s *Snapshot) servedLast(w *work.Work, to *work.Revision) (served *work.Revision, ripe time.Time) {
	exact := s.find(func(rev *work.Revision) bool {
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
func (s *Snapshot) servedInHandover(w *work.Work, own, kept, to *work.Revision) (served *work.Revision, ripe time.Time) {
	switch {
	case w.Settled(own):
		return own, time.Time{}
	case work.Assess(w, own, s.Now).State != work.Succeeded:
		return kept, time.Time{}
	case !w.At(own): // A user removed the annotation with the time of the write, so no success ever settles.
		return kept, time.Time{}
	}
	phase, ripe := soakPhase(s, w, time.Time{})
	if phase != succeeded {
		return nil, ripe
	}
	return own, time.Time{}
}

// historyWait is the interval at which the hub checks whether the history can be read again.
const historyWait = 15 * time.Second

// form is the form in which a write puts a revision into a work.
type form struct {
	// revision is the revision to write, with a combined template if objects are kept.
	revision *work.Revision
	// kept is the hash of the revision whose objects are kept.
	kept string
	// ripe is the time at which the form is known; zero if it is known now.
	ripe time.Time
	// unknown is true if no readable revision matches the last content that the cluster served: none of its objects can be kept.
	unknown bool
}

// formOf returns the form in which a work gets a revision: exactly, or combined with the revision that the cluster served last. A work
// that already has the combined form must be trimmed. While the history can't be read, a work that keeps objects is not written.
func (s *Snapshot) formOf(w *work.Work, to *work.Revision) form {
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

// noteNotKept records the objects of the previous revision that are deleted at once despite pruneStrategy WhenAvailable, and the reasons.
func (p *Plan) noteNotKept(s *Snapshot, sel *selection) {
	from := s.Current
	if s.Aborted {
		from = s.Update
	}
	switch {
	case s.Handover == nil:
	case !s.Handover.keeps():
		p.NotKept = append(p.NotKept, s.Handover.Problem)
		if slices.ContainsFunc(s.Works, func(w work.Work) bool { return s.Handover.leavesAlone(&w) }) {
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

// unknownServed reports whether a work must get the desired revision although no readable revision matches the last content that its
// cluster served. The result does not depend on whether this pass writes the work, so the report stays the same between two retries (P7).
func (s *Snapshot) unknownServed(sel *selection) bool {
	if !s.Handover.keeps() || s.desired() == nil {
		return false
	}
	unknown := func(w *work.Work) bool { return w != nil && !w.Deleting() && s.formOf(w, s.desired()).unknown }
	return slices.ContainsFunc(sel.members, func(m member) bool { return unknown(m.work) }) ||
		s.Aborted && slices.ContainsFunc(sel.unselected, unknown)
}
