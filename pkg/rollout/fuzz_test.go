package rollout_test

import (
	"testing"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	rt "github.com/open-cluster-management-io/work-rollback/pkg/rollout/rollouttest"
)

// FuzzWorkAnnotations: whatever someone writes into the annotations and labels of a work, every cluster is in a phase, and a
// work whose time can't be read is not at any revision.
func FuzzWorkAnnotations(f *testing.F) {
	for _, seed := range [][4]string{
		{"2030-01-01T12:00:00Z", "0/a", "team", "p1"},
		{"2030-01-01T12:00:00.123456789+02:00", "7/a/b", ",,team,", "p1"},
		{"", "", "", ""},
		{"yesterday", "/", ",", "p2"},
		{"-1", "99999999999/x", "work.open-cluster-management.io/controller-hash", "p1"},
		{"0001-01-01T00:00:00Z", "-1/", "a", "p1"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, appliedAt, group, copied, placement string) {
		change := func(w *rollout.Work) {
			w.Object.Annotations[workv1alpha1.AnnotationAppliedAt] = appliedAt
			w.Object.Annotations[workv1alpha1.AnnotationDecisionGroup] = group
			w.Object.Annotations[workv1alpha1.AnnotationCopiedLabels] = copied
			w.Object.Labels[workv1alpha1.LabelPlacement] = placement
		}
		s := rt.Snapshot(rt.Now(10*minute), rt.Works(inFlight("c1", change), failed("c2", change, rt.Deleting()), done("c3", change)),
			rt.Refs(rt.Ref("p1", rt.PerGroup(), rt.Deadline("5m"), rt.Mandatory("a"), rt.Group("a", "c1"), rt.GroupAt(7, "b", "c4"))))
		p := rollout.Decide(s)
		if len(p.Phases) != 2 || p.Selected() != 2 {
			t.Fatalf("%v", p.Phases)
		}
		if _, readable := s.Works[0].AppliedAt(); !readable && p.Phases["c1"] != rollout.PhaseWaiting {
			t.Fatalf("written at %q, and %s", appliedAt, p.Phases["c1"])
		}
	})
}
