package replicaset

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	upstream "open-cluster-management.io/api/work/v1alpha1"
)

// A field that can't be decoded is named by its path, and does not hide other fields. A list of Placements that may be incomplete does
// not count as complete: a cluster that none of the known Placements selects would lose its work.
func TestUnreadableFieldsAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		spec, status string
		paths        []string
		refs         []string
		hidden       bool
	}{
		"nothing": {spec: `{"cascadeDeletionPolicy":"Foreground","placementRefs":[{"name":"p1"},{"name":"p2"}]}`, refs: []string{"p1", "p2"}},
		"a duration": {
			spec: `{"cascadeDeletionPolicy":"Foreground","placementRefs":[{"name":"p1"},` +
				`{"name":"p2","rolloutStrategy":{"type":"Progressive","progressive":{"minSuccessTime":"5 minutes","maxConcurrency":2}}}]}`,
			paths: []string{"spec.placementRefs[1].rolloutStrategy.progressive.minSuccessTime: time: unknown unit"},
			refs:  []string{"p1", "p2"},
		},
		"two durations, and a text instead of a number": {
			spec: `{"cascadeDeletionPolicy":"Foreground","revisionHistoryLimit":"ten","placementRefs":[` +
				`{"name":"p1","rolloutStrategy":{"all":{"minSuccessTime":"soon"}}},{"name":"p2","rolloutStrategy":{"progressivePerGroup":{"minSuccessTime":"later"}}}]}`,
			paths: []string{
				"spec.placementRefs[0].rolloutStrategy.all.minSuccessTime", "spec.placementRefs[1].rolloutStrategy.progressivePerGroup.minSuccessTime",
				"spec.revisionHistoryLimit",
			},
			refs: []string{"p1", "p2"},
		},
		"an element of a list": {
			spec:  `{"cascadeDeletionPolicy":"Foreground","placementRefs":[{"name":"p1","rolloutStrategy":{"progressive":{"mandatoryDecisionGroups":[{"groupName":"g"},7]}}}]}`,
			paths: []string{"spec.placementRefs[0].rolloutStrategy.progressive.mandatoryDecisionGroups[1]"},
			refs:  []string{"p1"},
		},
		"a Placement's name": {
			spec:  `{"cascadeDeletionPolicy":"Foreground","placementRefs":[{"name":7},{"name":"p2"}]}`,
			paths: []string{"spec.placementRefs[0].name"}, refs: []string{"", "p2"}, hidden: true,
		},
		"a ref": {
			spec: `{"cascadeDeletionPolicy":"Foreground","placementRefs":["p1",{"name":"p2"}]}`, paths: []string{"spec.placementRefs[0]"}, hidden: true,
		},
		"the refs":   {spec: `{"cascadeDeletionPolicy":"Foreground","placementRefs":"p1"}`, paths: []string{"spec.placementRefs"}, hidden: true},
		"the status": {spec: `{"cascadeDeletionPolicy":"Foreground"}`, status: `{"abortedTime":"now"}`, paths: []string{"status.abortedTime"}},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "web", "namespace": "default", "uid": "u"}}}
			for field, text := range map[string]string{"spec": test.spec, "status": test.status} {
				if text != "" {
					var value any
					require.NoError(t, json.Unmarshal([]byte(text), &value))
					u.Object[field] = value
				}
			}
			object := Decode(u)
			if len(test.paths) == 0 {
				require.NoError(t, object.DecodeErr)
			}
			for _, path := range test.paths {
				require.ErrorContains(t, object.DecodeErr, path)
			}
			require.Equal(t, !test.hidden, object.PlacementsKnown)
			require.Equal(t, upstream.Foreground, object.Spec.CascadeDeletionPolicy, "the deletion depends on it")
			require.EqualValues(t, "u", object.UID)
			var refs []string
			for i := range object.Spec.PlacementRefs {
				refs = append(refs, object.Spec.PlacementRefs[i].Name)
			}
			require.Equal(t, test.refs, refs)
		})
	}
}
