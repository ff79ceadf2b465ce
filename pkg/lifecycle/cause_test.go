package lifecycle_test

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// caused is a view whose object has a change cause; empty for none.
func caused(v *lifecycle.View, cause string) *lifecycle.View {
	if cause != "" {
		v.Object.Annotations = map[string]string{workv1alpha1.AnnotationChangeCause: cause}
	}
	return v
}

// A revision gets the change cause that its owner has when it is created.
func TestCauseOfANewRevision(t *testing.T) {
	created := step(t, lifecycle.Next(caused(view("b", names("a", "a"), object("a", 1, current(0))), "image 2")), lifecycle.Create)
	require.Equal(t, "image 2", created.Revision.Annotations[workv1alpha1.AnnotationChangeCause])

	without := step(t, lifecycle.Next(view("b", names("a", "a"), object("a", 1, current(0)))), lifecycle.Create)
	require.NotContains(t, without.Revision.Annotations, workv1alpha1.AnnotationChangeCause)
}

// A revision that is reused gets the cause of that. Without one it keeps its own.
func TestCauseOfAnUndo(t *testing.T) {
	back := func(cause string) lifecycle.Step {
		v := view("a", names("b", "b"), object("a", 1, current(0), annotated(workv1alpha1.AnnotationChangeCause, "image 1")), object("b", 2, current(time.Minute)))
		return step(t, lifecycle.Next(caused(v, cause)), lifecycle.Renumber)
	}
	require.Equal(t, "image 2 leaks memory", back("image 2 leaks memory").Patch.ChangeCause)
	require.Empty(t, back("").Patch.ChangeCause)
}

// A revision that is reused keeps its own cause where nobody gave another one since the newest revision was made or reused.
func TestUndoKeepsItsCause(t *testing.T) {
	caused1, caused2 := annotated(workv1alpha1.AnnotationChangeCause, "image 1"), annotated(workv1alpha1.AnnotationChangeCause, "image 2")
	v := view("a", names("b", "b"), object("a", 1, current(0), caused1), object("b", 2, current(time.Minute), caused2))
	first := step(t, lifecycle.Next(caused(v, "image 2")), lifecycle.Renumber).Patch
	require.Empty(t, first.ChangeCause)
	require.Equal(t, "image 2", *first.Record.CauseSeen)

	seen := amended(func(r *revision.Record) { r.CauseSeen = ptr.To("image 2") })
	v = view("b", names("a", "a"), object("b", 2, current(0), caused2), object("a", 3, current(time.Minute), caused1, seen))
	second := step(t, lifecycle.Next(caused(v, "image 2")), lifecycle.Renumber).Patch
	require.Empty(t, second.ChangeCause)
	require.Nil(t, second.Record.CauseSeen, "it is its own")
}

// A cause that changes while the template stays makes no revision, and changes none.
func TestCauseAlone(t *testing.T) {
	v := view("b", names("b", "b"), object("b", 2, current(0), remembers(), annotated(workv1alpha1.AnnotationChangeCause, "image 2")))
	step(t, lifecycle.Next(caused(v, "another one")), lifecycle.Proceed)
}
