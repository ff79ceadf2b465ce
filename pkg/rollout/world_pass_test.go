package rollout_test

// How the world makes a pass of a hub: what it observes, decides and writes.

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// observe makes the snapshot, as a hub would.
func (w *world) observe() *rollout.Snapshot {
	s := &rollout.Snapshot{
		Now: w.now, DeadlinesSince: w.deadlinesSince, Settle: w.settle, Owner: rt.Owner,
		Update: w.revisions[w.update], Current: w.revisions[w.current], Aborted: w.aborted, Paused: w.paused,
		Records: w.records,
	}
	if s.Current == nil {
		s.Absent = &rollout.Absence{Cause: rollout.NeverComplete}
	}
	w.observeHandover(s)
	owners := w.owners()
	for _, ref := range w.refs {
		view := ref.Ref
		view.Placement = nil
		if !ref.missing {
			view.Placement = &placement.Placement{Decisions: 1, Counted: true, Selected: ref.hidden}
			for _, g := range ref.groups {
				if len(g.Clusters) > 0 {
					view.Placement.Groups = append(view.Placement.Groups, g)
					view.Placement.Selected += len(g.Clusters)
				}
			}
		}
		s.Refs = append(s.Refs, view)
	}
	desired := w.update
	if w.aborted && s.Current != nil {
		desired = w.current
	}
	for _, mw := range w.sorted() {
		if owners[mw.cluster] != nil {
			mw.unselected = time.Time{}
		} else if mw.unselected.IsZero() {
			mw.unselected = w.now
		}
		if w.keeps {
			desired = mw.hash()
		}
		if succeeds := mw.at(desired) && mw.report == succeeding; !succeeds {
			mw.seenSuccess = time.Time{}
		} else if mw.seenSuccess.IsZero() {
			mw.seenSuccess = w.now
		}
		spec := mw.object.Generation
		if mw.deleting {
			spec--
		}
		if write := fmt.Sprint(spec, mw.writtenAt()); mw.watched != write {
			mw.watched, mw.watchedSince, mw.knownSettled = write, w.now, time.Time{}
		}
		s.Works = append(s.Works, mw.work(w))
	}
	return s
}

// work returns what the hub's process knows of a work.
func (mw *worldWork) work(w *world) work.Work {
	return work.Work{
		WatchedSince: mw.watchedSince, SettledAt: mw.knownSettled,
		Object: mw.object.DeepCopy(), Digest: rt.DigestOf(mw.content),
		SucceededSince: mw.seenSuccess, UnselectedSince: mw.unselected, DeletionCounts: true, Combined: w.combined(mw),
	}
}

// pass is one look of the hub: it decides, persists, and acts.
func (w *world) pass() *rollout.Plan {
	s := w.observe()
	p := rollout.Decide(s)
	w.note()
	if p.Abort == nil && p.Records.Adds(&s.Records) {
		w.records = p.Records // That is persisted, and ends a pass (R11).
		return w.pass()
	}
	w.records, w.last = p.Records, p
	w.check(s, p)
	switch {
	case p.Abort != nil:
		w.log("abort: %s", p.Abort.Reason)
		w.aborted = true
		return p
	case p.Complete && w.current != w.update:
		w.log("complete: %s", w.update)
		w.current = w.update
	}
	for _, write := range p.Writes {
		w.log("%s", write)
		w.write(write)
	}
	for _, d := range p.Deletes {
		w.log("%s", d)
		w.works[d.Work.Cluster()].delete(w.now)
	}
	return p
}

func (w *world) write(write rollout.Write) {
	mw := w.works[write.Cluster]
	if mw == nil {
		mw = &worldWork{cluster: write.Cluster, object: &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Name: rt.OwnerName, Namespace: write.Cluster, UID: types.UID(write.Cluster + w.now.String()), Annotations: work.Annotations(nil),
		}}}
		w.works[write.Cluster] = mw
	}
	hash := mw.object.Labels[workv1alpha1.LabelControllerHash]
	mw.object.Labels = write.Owner.Labels(write.Placement)
	mw.object.Labels[workv1alpha1.LabelControllerHash] = hash
	if write.Group != "" {
		mw.object.Annotations[workv1alpha1.AnnotationDecisionGroup] = write.Group
	}
	if write.Revision == nil {
		return
	}
	content := write.Revision.Hash
	delete(mw.object.Annotations, workv1alpha1.AnnotationKeptRevision)
	if write.KeptRevision != "" {
		content += "+" + write.KeptRevision
		mw.object.Annotations[workv1alpha1.AnnotationKeptRevision] = write.KeptRevision
	}
	if mw.content != content {
		mw.object.Generation++
		mw.report, mw.reportSince = silent, w.now
	}
	mw.content = content
	mw.object.Labels[workv1alpha1.LabelControllerHash] = write.Revision.Hash
	mw.object.Annotations[workv1alpha1.AnnotationAppliedAt] = w.now.Format(time.RFC3339Nano)
	mw.settled, mw.seenSuccess = false, time.Time{}
}

func (work *worldWork) at(hash string) bool {
	return work.hash() == hash && (work.content == hash || work.kept() != "" && work.content == hash+"+"+work.kept())
}

func (work *worldWork) writtenAt() time.Time {
	at, _ := time.Parse(time.RFC3339Nano, work.object.Annotations[workv1alpha1.AnnotationAppliedAt])
	return at
}

// String is for the logs of the property tests.
func (r *worldRef) String() string {
	return fmt.Sprintf("%s %+v hidden %d missing %v", r.Name, r.groups, r.hidden, r.missing)
}
func (r *worldRef) GoString() string { return r.String() }
