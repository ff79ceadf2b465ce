package work_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestRead: metadata that is read once equals metadata that is read each time.
func TestRead(t *testing.T) {
	metadata := func(w *work.Work) []any {
		at, known := w.AppliedAt()
		return []any{w.Cluster(), w.Hash(), w.PlacementName(), w.KeptRevision(), w.Deleting(), at, known}
	}
	for name, options := range map[string][]rt.WorkOption{
		"unlabelled": nil,
		"written":    {rt.AtRevision("aaa"), rt.OfPlacement("p2"), rt.WrittenAt(time.Minute)},
		"deleting":   {rt.AtRevision("aaa"), rt.DeletedAt(time.Minute)},
		"keeping": {rt.AtRevision("aaa"), func(w *work.Work) {
			w.Object.Annotations[workv1alpha1.AnnotationKeptRevision] = "bbb"
		}},
		"unreadable": {rt.AtRevision("aaa"), func(w *work.Work) {
			w.Object.Annotations[workv1alpha1.AnnotationAppliedAt] = "yesterday"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := rt.Work("c1", options...)
			want := metadata(&w)
			w.Read()
			require.Equal(t, want, metadata(&w))
			w.Object.Labels, w.Object.Annotations, w.Object.DeletionTimestamp = nil, nil, nil
			require.Equal(t, want, metadata(&w), "it is read once")
		})
	}
}
