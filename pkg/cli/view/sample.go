package view

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Sample is the part of the ManifestWorks of a large fleet that a view reads in full. A list of 10,000 works costs the API server seconds;
// a list of their metadata does not.
//
//  1. The metadata of all works shows which revision each cluster has. A cluster without the intended revision waits, regardless of its
//     agent's reports.
//  2. The works that may matter are read in full: works of failed and rejected clusters, works that are being deleted, and works that an
//     abort wrote.
//  3. Of the other works, those that the hub wrote last are read first. The reading stops when no more works are left than the hub counts
//     as succeeded.
//  4. The other clusters are presumed to have succeeded. The view has a note about this.
//
// During an abort, the hub counts conditions instead of successes: no success is presumed unless the counts prove the success of every work
// that was not read.
type Sample struct {
	// Must are the indexes of the works in Objects.Works that have to be read.
	Must []int
	// May are the indexes of works that may matter, in the order of their writes, the latest first.
	May []int

	objects *Objects
	digests map[string]revision.Digest
	read    sets.Set[int]
}

// SampleOf returns the sample for objects that hold only the metadata of the works. The sample always includes the works of the named
// clusters. It is nil if the metadata is not sufficient: then all works have to be read.
func SampleOf(o *Objects, named ...string) *Sample {
	if !o.ReplicaSet.DeletionTimestamp.IsZero() || !o.explained() ||
		o.ReplicaSet.Spec.PruneStrategy == workv1alpha1.PruneWhenAvailable {
		return nil
	}
	s := &Sample{objects: o, digests: map[string]revision.Digest{}, read: sets.New[int]()}
	for _, rev := range o.history().Revisions {
		// If a work can run to completion, its agent takes no newer revision. Only the content of the work shows this.
		if rev.Err != nil || forecast.HasRule(rev.Template, workv1.ManifestComplete) {
			return nil
		}
		s.digests[rev.Hash] = rev.Digest
	}
	must := sets.New(named...)
	for _, c := range o.recorded() {
		must.Insert(c.Name)
	}
	for i := range o.Works {
		switch w := &o.Works[i]; {
		case must.Has(w.Cluster()), s.unclear(w):
			s.Must = append(s.Must, i)
		case w.Hash() == o.ReplicaSet.Status.UpdateRevision && !o.aborted():
			s.May = append(s.May, i)
		}
	}
	slices.SortStableFunc(s.May, func(a, b int) int { return o.writtenAt(b).Compare(o.writtenAt(a)) })
	return s
}

// unclear reports whether the metadata of a work is not enough to determine the state of its cluster.
func (s *Sample) unclear(w *work.Work) bool {
	_, known := s.digests[w.Hash()]
	at, applied := w.AppliedAt()
	if !known || !applied || w.Deleting() || w.KeptRevision() != "" {
		return true
	}
	status := &s.objects.ReplicaSet.Status
	return s.objects.aborted() && (w.Hash() != status.CurrentRevision || !at.Before(status.AbortedTime.Time))
}

// writtenAt returns the time at which the hub wrote the revision of a work.
func (o *Objects) writtenAt(i int) time.Time {
	at, _ := o.Works[i].AppliedAt()
	return at
}

// Read records that works were read in full. Objects.Works already has them.
func (s *Sample) Read(works []int) { s.read.Insert(works...) }

// Presumed returns the objects, in which each work that was not read counts as succeeded if it has the intended revision. uncounted is how
// many more clusters then count as succeeded than the hub counts: the sample is large enough if uncounted is not above zero. During an
// abort, uncounted is the number of all works, unless the hub's counts prove the success of the works that were not read.
func (s *Sample) Presumed() (presumed *Objects, uncounted int) {
	o := *s.objects
	o.known = nil
	o.Works, o.Presumed = slices.Clone(o.Works), sets.New[string]()
	target := o.ReplicaSet.Status.UpdateRevision
	if o.aborted() {
		target = o.ReplicaSet.Status.CurrentRevision
	}
	for i := range o.Works {
		if s.read.Has(i) {
			continue
		}
		w := &o.Works[i]
		w.Digest = s.digests[w.Hash()]
		if w.Hash() == target {
			o.Presumed.Insert(w.Cluster())
			w.Object = succeeded(w.Object, o.writtenAt(i))
		}
	}
	if o.aborted() {
		if s.proven() {
			return &o, 0
		}
		return &o, len(o.Works)
	}
	return &o, o.uncounted()
}

// uncounted returns how many more clusters count as succeeded than the hub counts.
func (o *Objects) uncounted() int {
	clusters, _ := o.clusters()
	done := 0
	for i := range clusters {
		if clusters[i].done() || clusters[i].State == rollout.PhaseSoaking {
			done++
		}
	}
	return done - o.ReplicaSet.Status.Summary.Updated
}

// succeeded returns a work whose agent reports success.
func succeeded(object *workv1.ManifestWork, at time.Time) *workv1.ManifestWork {
	out := &workv1.ManifestWork{ObjectMeta: object.ObjectMeta}
	for name, status := range Good {
		out.Status.Conditions = append(out.Status.Conditions, metav1.Condition{
			Type: name, Status: status, ObservedGeneration: object.Generation, LastTransitionTime: metav1.NewTime(at),
		})
	}
	return out
}

// Good maps the conditions of a work that succeeds, and of its manifests, to their status.
var Good = map[string]metav1.ConditionStatus{
	workv1.WorkApplied: metav1.ConditionTrue, workv1.WorkAvailable: metav1.ConditionTrue,
	workv1.WorkProgressing: metav1.ConditionFalse, workv1.WorkDegraded: metav1.ConditionFalse,
}

// proven reports whether the hub's counts of conditions prove that every work that was not read succeeds: each missing or bad condition
// that the hub counts is in a work that was read.
func (s *Sample) proven() bool {
	summary := &s.objects.ReplicaSet.Status.Summary
	bad := map[string]int{}
	for i := range s.read {
		w := &s.objects.Works[i]
		for name := range Good {
			found := meta.FindStatusCondition(w.Object.Status.Conditions, name)
			counted := found != nil && (w.Observed(found) || name == workv1.WorkAvailable && found.ObservedGeneration == 0)
			if isTrue := counted && found.Status == metav1.ConditionTrue; isTrue != (Good[name] == metav1.ConditionTrue) {
				bad[name]++
			}
		}
	}
	return summary.Total == len(s.objects.Works) &&
		bad[workv1.WorkApplied] == summary.Total-summary.Applied && bad[workv1.WorkAvailable] == summary.Total-summary.Available &&
		bad[workv1.WorkProgressing] == summary.Progressing && bad[workv1.WorkDegraded] == summary.Degraded
}

// presumption returns the note about the works that were not read. It is empty if all works were read.
func (o *Objects) presumption() []string {
	if len(o.Presumed) == 0 {
		return nil
	}
	text := fmt.Sprintf("the ManifestWorks of %d clusters were not read: these clusters count as succeeded", len(o.Presumed))
	if more := o.uncounted(); !o.aborted() && more > 0 {
		text += fmt.Sprintf("; the hub's status counts %d fewer", more)
	} else {
		text += ", as in the hub's status"
	}
	return []string{text + "; `" + plugin("clusters", o.ReplicaSet.Name) + "` reads all ManifestWorks"}
}
