package revision_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// A missing field was lost if an older CRD was in place, and removed on purpose otherwise.
func TestNoteSettings(t *testing.T) {
	const (
		prune   = `{"fields":{"spec.pruneStrategy":"WhenAvailable"}}`
		lost    = `{"fields":{"spec.pruneStrategy":"WhenAvailable"},"lost":7}`
		failure = `{"fields":{"spec.placementRefs[p1].rolloutStrategy.failureStrategy":"AbortAll"}}`
	)
	read := func(text string) *revision.Settings {
		if text == "" {
			return nil
		}
		found := &revision.Settings{}
		require.NoError(t, json.Unmarshal([]byte(text), found))
		return found
	}
	type spec = workv1alpha1.ManifestWorkReplicaSetSpec
	none, pruning := spec{}, spec{PruneStrategy: workv1alpha1.PruneWhenAvailable}
	refs := spec{PlacementRefs: []workv1alpha1.LocalPlacementReference{{Name: "p1"}}}
	aborting := *refs.DeepCopy()
	aborting.PlacementRefs[0].RolloutStrategy.FailureStrategy = workv1alpha1.AbortAll
	for name, test := range map[string]struct {
		spec       spec
		known      string
		olderCRD   bool
		generation int64
		want       revision.SettingsNote
	}{
		"nothing is set":         {spec: none},
		"explicit defaults":      {spec: spec{PruneStrategy: workv1alpha1.PruneImmediate, PreserveResourcesOnDeletion: ptr.To(false)}},
		"set for the first time": {spec: pruning, want: revision.SettingsNote{Settings: read(prune)}},
		"as it is known":         {spec: pruning, known: prune, want: revision.SettingsNote{Settings: read(prune)}},
		"all fields": {
			spec: spec{
				PreserveResourcesOnDeletion: ptr.To(true), PruneStrategy: workv1alpha1.PruneWhenAvailable,
				AbortedRevisionPolicy: workv1alpha1.HoldAborted,
				RollbackWindow:        &workv1alpha1.RollbackWindow{Revisions: ptr.To[int32](3)}, PlacementRefs: aborting.PlacementRefs,
			},
			want: revision.SettingsNote{Settings: read(`{"fields":{"spec.abortedRevisionPolicy":"Hold","spec.placementRefs[p1].rolloutStrategy.failureStrategy":"AbortAll",` +
				`"spec.preserveResourcesOnDeletion":"true","spec.pruneStrategy":"WhenAvailable","spec.rollbackWindow":"{\"revisions\":3}"}}`)},
		},
		"removed on purpose": {spec: none, known: prune},
		"dropped by an older CRD": {
			spec: none, known: prune, olderCRD: true,
			want: revision.SettingsNote{Settings: read(lost), Lost: []string{"spec.pruneStrategy (WhenAvailable)"}, Found: true},
		},
		"known to be lost": {spec: none, known: lost, want: revision.SettingsNote{Settings: read(lost), Lost: []string{"spec.pruneStrategy (WhenAvailable)"}}},
		"set again":        {spec: pruning, known: lost, generation: 8, want: revision.SettingsNote{Settings: read(prune)}},
		"the user changes something else under this CRD": {spec: none, known: lost, generation: 8},
		"the user changes something else under an older CRD": {
			spec: none, known: lost, generation: 8, olderCRD: true,
			want: revision.SettingsNote{Settings: read(lost), Lost: []string{"spec.pruneStrategy (WhenAvailable)"}},
		},
		"a failureStrategy is dropped": {
			spec: refs, known: failure, olderCRD: true,
			want: revision.SettingsNote{
				Settings: read(failure[:len(failure)-1] + `,"lost":7}`), Found: true,
				Lost: []string{"spec.placementRefs[p1].rolloutStrategy.failureStrategy (AbortAll)"},
			},
		},
		"its placementRef is gone":                {spec: none, known: failure, olderCRD: true},
		"a field that only a newer version knows": {spec: none, known: `{"fields":{"spec.later":"x"}}`, olderCRD: true},
	} {
		t.Run(name, func(t *testing.T) {
			owner := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Generation: max(test.generation, 7)}, Spec: test.spec}
			newest := &revision.Revision{Record: revision.Record{Settings: read(test.known)}}
			require.Equal(t, test.want, revision.NoteSettings(owner, newest, test.olderCRD))
		})
	}
	require.Empty(t, revision.NoteSettings(&workv1alpha1.ManifestWorkReplicaSet{}, nil, true), "no revision")
}

// A new object has no status yet. An object that was written under an older CRD has conditions but no state.
func TestOlderCRDWas(t *testing.T) {
	status := &workv1alpha1.ManifestWorkReplicaSetStatus{}
	require.False(t, revision.OlderCRDWas(status))
	status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionProgressing}}
	require.True(t, revision.OlderCRDWas(status))
	status.State = workv1alpha1.StateComplete
	require.False(t, revision.OlderCRDWas(status))
}
