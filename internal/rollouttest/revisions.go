package rollouttest

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// RevisionOption changes a revision.
type RevisionOption func(*work.Revision)

// Revision returns a revision with a hash. Its template has a rule that makes the agents report Progressing.
func Revision(hash string, options ...RevisionOption) *work.Revision {
	rev := &work.Revision{
		Name:     OwnerName + "-" + hash,
		Hash:     hash,
		Digest:   DigestOf(hash),
		Template: Template(hash),
	}
	rev.Template.ManifestConfigs = []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: "default", Name: "web"},
		ConditionRules: []workv1.ConditionRule{{
			Condition: workv1.ManifestProgressing, Type: workv1.CelConditionExpressionsType, CelExpressions: []string{"false"},
		}},
	}}
	for _, option := range options {
		option(rev)
	}
	return rev
}

// Template returns a template with one ConfigMap that holds a value.
func Template(value string) *workv1.ManifestWorkSpec {
	return &workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"default"},"data":{"value":%q}}`, value),
	}}}}}
}

// WithoutRules removes the condition rules, so that the agents do not report Progressing.
func WithoutRules() RevisionOption {
	return func(rev *work.Revision) { rev.Template.ManifestConfigs = nil }
}

// Rules adds the condition rules of one more manifest, by the types of their conditions.
func Rules(types ...string) RevisionOption {
	return func(rev *work.Revision) {
		var rules []workv1.ConditionRule
		for _, conditionType := range types {
			rules = append(rules, workv1.ConditionRule{Condition: conditionType, Type: workv1.CelConditionExpressionsType})
		}
		rev.Template.ManifestConfigs = append(rev.Template.ManifestConfigs, workv1.ManifestConfigOption{ConditionRules: rules})
	}
}

// ReportsDegraded adds a rule that makes the agents report Degraded.
func ReportsDegraded() RevisionOption {
	return func(rev *work.Revision) { rev.ReportsDegraded = true }
}

// ReusedAt sets when the template returned to the revision: an undo.
func ReusedAt(since time.Duration) RevisionOption {
	return func(rev *work.Revision) { rev.Reused, rev.CountsFrom, rev.Underway = true, At(since), true }
}

// RetriedAt sets when a user retried the revision.
func RetriedAt(since time.Duration) RevisionOption {
	return func(rev *work.Revision) { rev.CountsFrom, rev.Underway = At(since), true }
}
