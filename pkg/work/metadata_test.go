package work_test

import (
	"testing"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestNoted: the note about how a work was stored applies only to its current spec, not to a later edit.
func TestNoted(t *testing.T) {
	bbb := rt.DigestOf("bbb")
	byContent := work.Work{Digest: "pruned", AcceptedAs: bbb}
	for name, tc := range map[string]struct {
		value      string
		generation int64
		holds      []rt.WorkOption
		asked      string
		how        work.Note
	}{
		"nothing":                          {generation: 5},
		"the generation of the write":      {value: work.AskedFor(bbb, 5), generation: 5, asked: string(bbb), how: work.NotedGeneration},
		"a write that changed nothing":     {value: work.AskedFor(bbb, 6), generation: 5, asked: string(bbb), how: work.NotedGeneration},
		"edited since":                     {value: work.AskedFor(bbb, 5), generation: 6},
		"made again under the same name":   {value: work.AskedFor(bbb, 5), generation: 1},
		"the content":                      {value: byContent.Accepted(), generation: 5, asked: string(bbb), how: work.NotedContent},
		"the content, edited back":         {value: byContent.Accepted(), generation: 7, asked: string(bbb), how: work.NotedContent},
		"the content, edited since":        {value: byContent.Accepted(), generation: 5, holds: []rt.WorkOption{rt.Edited()}},
		"no digest":                        {value: "/5", generation: 5},
		"no generation":                    {value: string(bbb) + "/", generation: 5},
		"words":                            {value: "yes", generation: 5},
		"a spec that can't be read":        {value: string(bbb) + "/", generation: 5, holds: []rt.WorkOption{func(w *work.Work) { w.Digest = "" }}},
		"being deleted: no other spec yet": {value: work.AskedFor(bbb, 5), generation: 5, holds: []rt.WorkOption{rt.Deleting()}, asked: string(bbb), how: work.NotedGeneration},
	} {
		t.Run(name, func(t *testing.T) {
			options := append([]rt.WorkOption{rt.AtRevision("bbb"), rt.StoredOtherwise("bbb"), rt.Generation(tc.generation),
				rt.Annotated(workv1alpha1.AnnotationAccepted, tc.value)}, tc.holds...)
			w := rt.Work("c1", options...)
			if asked, how := w.Noted(); string(asked) != tc.asked || how != tc.how {
				t.Errorf("%q %q, want %q %q", asked, how, tc.asked, tc.how)
			}
		})
	}
}
