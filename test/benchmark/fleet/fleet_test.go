package fleet

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	workv1 "open-cluster-management.io/api/work/v1"
)

func TestTemplate(t *testing.T) {
	template := Template(7)
	data, err := json.Marshal(template)
	require.NoError(t, err)
	require.InDelta(t, 20_000, len(data), 2_000, "a template has 20 KB")
	require.Len(t, template.Workload.Manifests, 5)
	require.Equal(t, 7, Version(&template))
	require.Equal(t, -1, Version(&workv1.ManifestWorkSpec{}))
}

// Time is when an agent reported first: what stays true keeps it, and gets the new generation.
func TestAnswerKeepsTransitions(t *testing.T) {
	began := time.Unix(1000, 0)
	status := workv1.ManifestWorkStatus{}
	Answer(&status, Succeeds, 1, began)
	require.True(t, meta.IsStatusConditionTrue(status.Conditions, workv1.WorkAvailable))
	require.True(t, meta.IsStatusConditionFalse(status.Conditions, workv1.WorkProgressing))

	Answer(&status, Hangs, 2, began.Add(time.Minute))
	require.True(t, meta.IsStatusConditionTrue(status.Conditions, workv1.WorkProgressing))
	applied, progressing := meta.FindStatusCondition(status.Conditions, workv1.WorkApplied), meta.FindStatusCondition(status.Conditions, workv1.WorkProgressing)
	require.Equal(t, began, applied.LastTransitionTime.Time)
	require.EqualValues(t, 2, applied.ObservedGeneration)
	require.Equal(t, began.Add(time.Minute), progressing.LastTransitionTime.Time)
	require.Len(t, status.ResourceStatus.Manifests, 5)

	Degrade(&status, 2, began)
	require.Equal(t, began, meta.FindStatusCondition(status.Conditions, workv1.WorkDegraded).LastTransitionTime.Time)
}

func TestPhase(t *testing.T) {
	p := newPhase("")
	first := time.Unix(1000, 0)
	p.wrote("a/web", first)
	p.wrote("b/web", first.Add(time.Second))
	p.wrote("a/web", first.Add(2*time.Second))
	p.answers("b/web", first.Add(3*time.Second))
	require.Equal(t, Seen{
		Written: 2, Writes: 3, Answered: 1, First: first, Last: first.Add(2 * time.Second), LastAnswer: first.Add(3 * time.Second),
	}, p.Seen())
}
