package rollout_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// combine stands for what package handover does: each revision has one manifest, and no other revision has it.
func combine(to, from *work.Revision) handover.Result {
	return handover.Result{Combined: &handover.Combined{
		Template: to.Template, Digest: rt.DigestOf(to.Hash + "+" + from.Hash), Manifests: 1, Kept: []string{"ConfigMap default/" + from.Hash},
	}}
}

func (w *world) observeHandover(s *rollout.Snapshot) {
	if !w.keeps {
		return
	}
	s.Handover = &rollout.Handover{Combine: combine}
	for _, hash := range hashes {
		if rev := w.revisions[hash]; rev != nil && hash != w.update && hash != w.current {
			s.Older = append(s.Older, rev)
		}
	}
}

func (w *world) combined(work *worldWork) *handover.Combined {
	own, kept := w.revisions[work.hash()], w.revisions[work.kept()]
	if own == nil || kept == nil {
		return nil
	}
	return combine(own, kept).Combined
}

func (work *worldWork) hash() string { return work.object.Labels[workv1alpha1.LabelControllerHash] }

func (work *worldWork) kept() string {
	return work.object.Annotations[workv1alpha1.AnnotationKeptRevision]
}

// beside is what an agent reports of a work that holds a kept object, too, which can't be applied.
func beside(r report, at time.Duration) []rt.WorkOption {
	is := func(conditionType string, value bool) metav1.Condition {
		status := metav1.ConditionFalse
		if value {
			status = metav1.ConditionTrue
		}
		return rt.Condition(conditionType, status, at)
	}
	own := []metav1.Condition{is(workv1.ManifestApplied, r != unapplied)}
	if r == silent {
		return nil
	}
	if r != unapplied {
		available := is(workv1.ManifestAvailable, r != progressing)
		available.ObservedGeneration = 0
		own = append(own, available, is(workv1.ManifestProgressing, r == progressing), is(workv1.ManifestDegraded, r == degraded))
	}
	return []rt.WorkOption{
		rt.NotApplied(at), rt.NotAvailable(at), rt.Manifest(own...), rt.Manifest(is(workv1.ManifestApplied, false), is(workv1.ManifestAvailable, false)),
	}
}

// noteServed notes the revisions that have settled.
func (w *world) noteServed() {
	for _, work := range w.sorted() {
		if work.at(work.hash()) && work.report == succeeding && !work.seenSuccess.IsZero() && !w.now.Before(work.seenSuccess.Add(w.settle)) {
			work.served = work.hash()
		}
		if work.at(work.hash()) && !w.knowsSettled(work) {
			work.forgetServed() // It was well for a moment.
		}
	}
}

// knowsSettled reports whether the hub's process has found the revision of a work settled, in the rollout of that revision that began last.
func (w *world) knowsSettled(work *worldWork) bool {
	rev := w.revisions[work.hash()]
	return rev != nil && work.knownSettled.After(latest(work.writtenAt(), rev.BeginsAt))
}

// forgetServed takes back what a process that begins now, or a rollout that begins now, can't know: that a revision has settled beside another one,
// and does not succeed any more.
func (work *worldWork) forgetServed() {
	if work.kept() != "" && work.report != succeeding {
		work.served = work.kept()
	}
}

// judgeKept is P10: the objects of the revision that a cluster serves go only when another one has settled there. What somebody edited is not known.
func (w *world) judgeKept(write rollout.Write) error {
	work := w.works[write.Cluster]
	if !w.keeps || write.Revision == nil || work == nil || work.served == "" || work.content == "edited" {
		return nil
	}
	if write.Revision.Hash == work.served || write.KeptRevision == work.served {
		return nil
	}
	return fmt.Errorf("P10: %s, and the cluster serves %s", write, work.served)
}
