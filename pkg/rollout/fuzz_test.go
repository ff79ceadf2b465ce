package rollout_test

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// FuzzWorkAnnotations: with any annotations and labels on a work, every cluster is in a phase. A work with an unreadable time is not at
// any revision.
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
		change := func(w *work.Work) {
			w.Object.Annotations[workv1alpha1.AnnotationAppliedAt] = appliedAt
			w.Object.Annotations[workv1alpha1.AnnotationDecisionGroup] = group
			w.Object.Annotations[workv1alpha1.AnnotationCopiedLabels] = copied
			w.Object.Labels[workv1alpha1.LabelPlacement] = placement
		}
		s := rt.Snapshot(rt.Now(10*minute), rt.Works(inFlight("c1", change), failed("c2", change, rt.Deleting()), done("c3", change)),
			rt.Refs(rt.Ref("p1", rt.PerGroup(), rt.Deadline("5m"), rt.Mandatory("a"), rt.Group("a", "c1"), rt.GroupAt(7, "b", "c4"))))
		p := rollout.Decide(s)
		if len(p.Phases()) != 2 || p.Selected() != 2 {
			t.Fatalf("%v", p.Phases())
		}
		if _, readable := s.Works[0].AppliedAt(); !readable && p.Phases()["c1"] != rollout.PhaseWaiting {
			t.Fatalf("written at %q, and %s", appliedAt, p.Phases()["c1"])
		}
	})
}

// FuzzStrategy: Decide follows any strategy or reports its error, as validation does, and no work of a selected cluster is deleted.
func FuzzStrategy(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"type":"All","all":{"progressDeadline":"5m","maxFailures":"10%","minSuccessTime":"10s"},"failureStrategy":"AbortAll"}`,
		`{"type":"Progressive","progressive":{"maxConcurrency":"25%","mandatoryDecisionGroups":[{"groupName":"a"},{"groupIndex":7}]}}`,
		`{"type":"ProgressivePerGroup","progressivePerGroup":{"progressDeadline":"None","maxFailures":-1}}`,
		`{"type":"Progressive","progressive":{"maxConcurrency":2147483647,"maxFailures":"2147483648%"}}`,
		`{"type":"Progressive","progressive":{"maxConcurrency":"-1%","progressDeadline":"999999999999h"}}`,
		`{"type":"Progressive","progressive":{"mandatoryDecisionGroups":[{"groupIndex":-1},{"groupName":""}]}}`,
		`{"type":"Slowly","failureStrategy":"Perhaps"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		ref := rt.Ref("p1", rt.Group("a", "c1", "c2"), rt.GroupAt(7, "b", "c3"))
		ref.Strategy = workv1alpha1.RolloutStrategy{}
		if json.Unmarshal([]byte(data), &ref.Strategy) != nil {
			return // The API server rejects this.
		}
		p := rollout.Decide(rt.Snapshot(rt.Now(10*minute), rt.Works(inFlight("c1"), failed("c2")), rt.Refs(ref)))
		errs := placement.ValidateStrategy(field.NewPath("rolloutStrategy"), &ref.Strategy)
		if p.Refs[0].Err != nil && len(errs) == 0 {
			t.Fatalf("validation lets pass what Decide refuses: %v", p.Refs[0].Err)
		}
		if len(p.Deletes) > 0 || p.Complete {
			t.Fatalf("deletes %v, complete %v", p.Deletes, p.Complete)
		}
	})
}

// FuzzHandover: with any report from an agent about a work that keeps objects of another revision, and any revision in its annotation, the
// work is judged by its own manifests, within a budget.
func FuzzHandover(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[{"resourceMeta":{"ordinal":0},"conditions":[{"type":"Applied","status":"True","observedGeneration":1}]}]`,
		`[{"resourceMeta":{"ordinal":2147483647}},{"resourceMeta":{"ordinal":-1}},{"resourceMeta":{"ordinal":1},"conditions":[{"type":"Available","status":"False"}]}]`,
	} {
		f.Add([]byte(seed), "aaa", uint16(2))
	}
	f.Fuzz(func(t *testing.T, reported []byte, kept string, manifests uint16) {
		var reports []workv1.ManifestCondition
		if json.Unmarshal(reported, &reports) != nil {
			return
		}
		w := inFlight("c1", rt.Annotated(workv1alpha1.AnnotationKeptRevision, kept), func(w *work.Work) {
			w.Combined = &handover.Combined{Digest: w.Digest, Manifests: int(manifests)}
			w.Object.Status.ResourceStatus.Manifests = reports
		})
		budget.Within(t, 20*time.Second, 64<<20+1000*uint64(len(reported)), func() {
			judged := w.Judged()
			if n := len(judged.Object.Status.ResourceStatus.Manifests); n != int(manifests) {
				t.Fatalf("judged by %d manifests", n)
			}
			if n := len(work.TrimHandover(reports)); n != len(reports) {
				t.Fatalf("%d reports are left", n)
			}
			rollout.Decide(rt.Snapshot(rt.Now(10*minute), rt.Works(w), rt.Refs(rt.Ref("p1", rt.Group("a", "c1")))))
		})
	})
}
