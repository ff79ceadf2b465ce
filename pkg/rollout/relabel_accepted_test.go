package rollout_test

import (
	"testing"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestAcceptedIsRecordedOnce: a work that is stored differently than it was written is annotated once. A work that is stored as it was
// written gets no further write.
func TestAcceptedIsRecordedOnce(t *testing.T) {
	plan := func(work work.Work) []string {
		var writes []string
		for _, w := range decide(rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Clusters("c1"))), rt.Works(work)).Writes {
			writes = append(writes, w.String())
		}
		return writes
	}
	stored := rt.Work("c1", rt.AtRevision("bbb"), rt.StoredOtherwise("bbb"))
	if got := plan(stored); len(got) != 1 || got[0] != "Relabel c1: what the API server made of it is recorded" {
		t.Errorf("%q", got)
	}
	stored.Object.Annotations[workv1alpha1.AnnotationAccepted] = stored.Accepted()
	if got := plan(stored); len(got) > 0 {
		t.Errorf("%q, though it is recorded", got)
	}
	asWritten := rt.Work("c1", rt.AtRevision("bbb"), rt.Annotated(workv1alpha1.AnnotationAccepted, work.AskedFor(rt.DigestOf("bbb"), 1)))
	if got := plan(asWritten); len(got) > 0 {
		t.Errorf("%q, though it is stored as it was written", got)
	}
}
