package rollout_test

// How the world makes a pass of a hub: what it observes, decides and writes.

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	rt "github.com/open-cluster-management-io/work-rollback/pkg/rollout/rollouttest"
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
			view.Placement = &rollout.Placement{Decisions: 1, Selected: ref.hidden}
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
	for _, work := range w.sorted() {
		if owners[work.cluster] != nil {
			work.unselected = time.Time{}
		} else if work.unselected.IsZero() {
			work.unselected = w.now
		}
		if w.keeps {
			desired = work.hash()
		}
		if succeeds := work.at(desired) && work.report == succeeding; !succeeds {
			work.seenSuccess = time.Time{}
		} else if work.seenSuccess.IsZero() {
			work.seenSuccess = w.now
		}
		spec := work.object.Generation
		if work.deleting {
			spec--
		}
		if write := fmt.Sprint(spec, work.writtenAt()); work.watched != write {
			work.watched, work.watchedSince, work.knownSettled = write, w.now, time.Time{}
		}
		s.Works = append(s.Works, rollout.Work{
			WatchedSince: work.watchedSince, SettledAt: work.knownSettled,
			Object: work.object.DeepCopy(), Digest: rt.DigestOf(work.content),
			SucceededSince: work.seenSuccess, UnselectedSince: work.unselected, DeletionCounts: true, Combined: w.combined(work),
		})
	}
	return s
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
	work := w.works[write.Cluster]
	if work == nil {
		work = &worldWork{cluster: write.Cluster, object: &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Name: rt.OwnerName, Namespace: write.Cluster, UID: types.UID(write.Cluster + w.now.String()), Annotations: rollout.WorkAnnotations(nil),
		}}}
		w.works[write.Cluster] = work
	}
	hash := work.object.Labels[workv1alpha1.LabelControllerHash]
	work.object.Labels = write.Owner.Labels(write.Placement)
	work.object.Labels[workv1alpha1.LabelControllerHash] = hash
	if write.Revision == nil {
		return
	}
	content := write.Revision.Hash
	delete(work.object.Annotations, workv1alpha1.AnnotationKeptRevision)
	if write.KeptRevision != "" {
		content += "+" + write.KeptRevision
		work.object.Annotations[workv1alpha1.AnnotationKeptRevision] = write.KeptRevision
	}
	if work.content != content {
		work.object.Generation++
		work.report, work.reportSince = silent, w.now
	}
	work.content = content
	work.object.Labels[workv1alpha1.LabelControllerHash] = write.Revision.Hash
	work.object.Annotations[workv1alpha1.AnnotationAppliedAt] = w.now.Format(time.RFC3339Nano)
	if write.Group != "" {
		work.object.Annotations[workv1alpha1.AnnotationDecisionGroup] = write.Group
	}
	work.settled, work.seenSuccess = false, time.Time{}
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
