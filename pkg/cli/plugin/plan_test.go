package plugin

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// A long list of waves is cut in the middle: the last wave shows the number of waves.
func TestPrintAhead(t *testing.T) {
	a := &view.Ahead{Namespace: "default", Name: "web", Notes: []string{"one\x1b[31m note"}, Text: "50, if every cluster recovers and succeeds; the first one waits", Then: []view.Fact{{Text: "paused: nothing is written"}}}
	for i := range 50 {
		part := forecast.WavePart{Placement: "p", Group: "0/a\nb", Clusters: []string{fmt.Sprintf("c%d", i+1)}}
		a.Waves = append(a.Waves, forecast.Wave{Now: i == 0, Parts: []forecast.WavePart{part}})
	}
	var out bytes.Buffer
	o := &options{IOStreams: genericiooptions.IOStreams{Out: &out}}
	require.NoError(t, o.printAhead(a, &view.Change{Number: 3, Returns: 1}, screen{}))
	for _, part := range []string{
		"would return to the template of revision 1, as revision 3\n", "note     one\\x1b[31m note\n", "then     now: paused: nothing is written\n",
		"waves    50, if every cluster recovers and succeeds; the first one waits\n", "11     1          p           0/a b   c11\n…", "50     1          p           0/a b   c50\n",
	} {
		require.Contains(t, out.String(), part)
	}
	require.NotContains(t, out.String(), "c12\n")
}

// A default that the API server sets is not a change to the file.
func TestPlanDiffKnowsDefaults(t *testing.T) {
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "uid"}}
	set.Spec.ManifestWorkTemplate.ManifestConfigs = []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Name: "web", Namespace: "default"},
	}}
	stored, err := revision.New(set, revision.WithDefaults(&set.Spec.ManifestWorkTemplate), "abc", 1)
	require.NoError(t, err)
	set.Status.UpdateRevision = "abc"
	objects := &view.Objects{ReplicaSet: set.DeepCopy(), Revisions: []*appsv1.ControllerRevision{stored}}
	set.Spec.ManifestWorkTemplate.ManifestConfigs[0].ResourceIdentifier.Name = "other"
	var out bytes.Buffer
	o := &options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}
	require.NoError(t, o.planDiff(objects, set))
	require.Contains(t, out.String(), "+    name: other")
	require.NotRegexp(t, "(?m)^[-+].*feedbackScrapeType", out.String())
}

// After an abort, a plan compares the file with the template that the clusters run, not with the aborted template.
func TestPlanDiffAfterAnAbort(t *testing.T) {
	h := newOneHub(t)
	h.set.Status.CurrentRevision = h.revisions[0].Labels[workv1alpha1.LabelControllerHash]
	objects := &view.Objects{ReplicaSet: h.set}
	for i := range h.revisions {
		objects.Revisions = append(objects.Revisions, &h.revisions[i])
	}
	diff := func(version string) string {
		set := h.set.DeepCopy()
		set.Spec.ManifestWorkTemplate = *templateWith(version)
		var out bytes.Buffer
		o := &options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}
		require.NoError(t, o.planDiff(objects, set))
		return out.String()
	}
	require.Contains(t, diff("v3"), "\n-  version: v2\n+  version: v3\n", "during a rollout")
	at := metav1.NewTime(time.Now())
	h.set.Status.AbortedTime = &at
	require.Contains(t, diff("v3"), "changes to the template of revision 1:\n--- before: ")
	require.Contains(t, diff("v3"), "\n-  version: v1\n+  version: v3\n")
	require.Equal(t, "\nchanges to the template of revision 1:\nnone\n", diff("v1"))
}

// A plan requires either a name or a file, and the file must be valid.
func TestPlanRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"name a ManifestWorkReplicaSet, or a file with -f, but not both": {"plan", "web"},
		`"name" for "-o, --output" flag: use json, yaml or jsonpath=…`:   {"plan", "-o", "name"},
	} {
		_, errors, code := runOn(t, simulated, args...)
		require.Equal(t, 1, code)
		require.Contains(t, errors, want)
	}
}
