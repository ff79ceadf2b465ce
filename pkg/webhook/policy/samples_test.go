package policy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/open-cluster-management-io/work-rollback/internal/ruletest"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/validate"
)

// limits are those of a webhook with its default flags.
var limits = validate.Limits{ManifestBytes: 500 * 1024}

// webhook returns the webhook's messages about an object.
func webhook(old, object *unstructured.Unstructured) (refusals, warnings []string) {
	verdict := validate.ReplicaSet(old, object, limits)
	for _, err := range verdict.Errors {
		refusals = append(refusals, err.Error())
	}
	return refusals, verdict.Warnings
}

func objects(t *testing.T, sample ruletest.Sample) (old, object *unstructured.Unstructured) {
	t.Helper()
	if sample.Old != nil {
		old = ruletest.Build(t, sample.Old...)
	}
	return old, ruletest.Build(t, sample.New...)
}

// The policy and the webhook use the same text for a rule.
func TestPolicyAndWebhookSayTheSame(t *testing.T) {
	refusals, warnings := compile(t, Refusals(), oldest), compile(t, Warnings(), oldest)
	flawless := ruletest.Build(t)
	require.Empty(t, refusals.judge(t.Context(), nil, flawless))
	require.Empty(t, warnings.judge(t.Context(), nil, flawless))
	seen := map[*rule.Rule]bool{}
	for _, sample := range ruletest.Refused() {
		seen[sample.Rule] = true
		t.Run(sample.Name, func(t *testing.T) {
			old, object := objects(t, sample)
			want, _ := webhook(old, object)
			require.Len(t, want, 1)
			require.Equal(t, verdict{denied: want}, refusals.judge(t.Context(), old, object))
			if sample.Rule != &rule.LongName { // A name can't be changed.
				require.Equal(t, verdict{denied: want}, refusals.judge(t.Context(), flawless, object), "an update that adds the problem")
			}
			labelled := ruletest.Build(t, append(sample.New, ruletest.Set("metadata.labels", "{a: b}"), ruletest.Set("spec.paused", "true"))...)
			require.Empty(t, refusals.judge(t.Context(), object, labelled), "an existing problem blocks no update")
			require.Empty(t, refusals.judge(t.Context(), object, flawless), "the problem can be corrected")
			deleted := ruletest.Build(t, append(sample.New, ruletest.Set("metadata.deletionTimestamp", `"2026-01-02T03:04:05Z"`))...)
			require.Empty(t, refusals.judge(t.Context(), flawless, deleted))
		})
	}
	for _, sample := range ruletest.Warned() {
		seen[sample.Rule] = true
		t.Run(sample.Name, func(t *testing.T) {
			old, object := objects(t, sample)
			refused, want := webhook(old, object)
			require.Empty(t, refused)
			require.Len(t, want, 1)
			require.Equal(t, verdict{denied: want}, warnings.judge(t.Context(), old, object))
			require.Empty(t, refusals.judge(t.Context(), old, object))
			labelled := ruletest.Build(t, append(sample.New, ruletest.Set("metadata.labels", "{a: b}"))...)
			require.Empty(t, warnings.judge(t.Context(), object, labelled), "the spec did not change")
		})
	}
	for _, r := range slices.Concat(rule.Refusals(), rule.Warnings()) {
		require.Equal(t, len(r.Checks) > 0, seen[r], "%s has a sample if CEL can say it", r.Text)
	}
}
