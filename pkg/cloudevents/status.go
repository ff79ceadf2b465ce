package cloudevents

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"

	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

const (
	// maxOtherConditions is the maximum number of a work's conditions to keep whose types no rule reads.
	maxOtherConditions = 16
	// maxType and maxReason are the API server's limits for a condition.
	maxType, maxReason = 316, 1024
	// maxResourceMeta limits the identity of a manifest: group, version, kind, resource, name and namespace.
	maxResourceMeta = 1024
	// spareManifests is the number of manifest statuses that a work may have in addition to two for each manifest. An
	// agent uses another identity for a manifest while it can't find the resource.
	spareManifests = 8
)

// readConditions are the types of a work's conditions that decisions use, and the types by which an agent reports that
// a work is deleted.
var readConditions = sets.New(workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkProgressing, workv1.WorkDegraded, workv1.WorkComplete,
	common.ResourceDeleted)

// mostManifests returns the number of manifest statuses to keep for a work.
func mostManifests(work *workv1.ManifestWork) int {
	return 2*len(work.Spec.Workload.Manifests) + spareManifests
}

// mergeStatus returns the status that an API server would hold after a report. A restarted agent has forgotten its
// conditions, and reports them again one by one. Conditions of the current generation that it has not reported yet are
// taken from the last status. Otherwise a cluster that succeeded long ago would briefly appear to have missed its
// deadline without ever reporting. The result omits data that this hub never reads: messages, feedback, and conditions
// of single manifests that no decision uses. So a report that differs only in these is not a change (P7). Its size is
// bounded, so the cost is linear in the size of the report.
func mergeStatus(before, reported *workv1.ManifestWorkStatus, generation int64, manifests int) workv1.ManifestWorkStatus {
	conditions := keepUnreported(before.Conditions, boundConditions(reported.Conditions), generation)
	return workv1.ManifestWorkStatus{
		Conditions: boundConditions(conditions),
		ResourceStatus: workv1.ManifestResourceStatus{
			Manifests: mergeManifests(before.ResourceStatus.Manifests, reported.ResourceStatus.Manifests, generation, manifests),
		},
	}
}

// mergeManifests returns the manifests of a report, with the missing conditions of each taken from before.
func mergeManifests(before, reported []workv1.ManifestCondition, generation int64, most int) []workv1.ManifestCondition {
	known := make(map[workv1.ManifestResourceMeta][]metav1.Condition, len(before))
	for i := range before {
		known[before[i].ResourceMeta] = before[i].Conditions
	}
	told := make(map[workv1.ManifestResourceMeta]bool, len(before))
	var merged []workv1.ManifestCondition
	add := func(m *workv1.ManifestCondition, lacks []metav1.Condition) {
		var conditions []metav1.Condition
		for i := range m.Conditions {
			if work.Decisive(&m.Conditions[i]) {
				conditions = append(conditions, m.Conditions[i])
			}
		}
		conditions = append(conditions, keepUnreported(lacks, nil, generation)...)
		if conditions != nil && len(merged) < most && lengthOf(&m.ResourceMeta) <= maxResourceMeta {
			merged = append(merged, workv1.ManifestCondition{ResourceMeta: m.ResourceMeta, Conditions: boundConditions(conditions)})
		}
	}
	for i := range reported {
		m := &reported[i]
		conditions, was := known[m.ResourceMeta]
		if was && !told[m.ResourceMeta] {
			told[m.ResourceMeta] = true // The first manifest with a name counts.
			add(m, unreported(conditions, m.Conditions))
			continue
		}
		add(m, nil)
	}
	for i := range before {
		if m := &before[i]; !told[m.ResourceMeta] {
			add(&workv1.ManifestCondition{ResourceMeta: m.ResourceMeta}, m.Conditions)
		}
	}
	return merged
}

// unreported returns the conditions whose types a report lacks.
func unreported(before, reported []metav1.Condition) []metav1.Condition {
	var lacks []metav1.Condition
	for i := range before {
		if meta.FindStatusCondition(reported, before[i].Type) == nil {
			lacks = append(lacks, before[i])
		}
	}
	return lacks
}

func lengthOf(m *workv1.ManifestResourceMeta) int {
	return len(m.Group) + len(m.Version) + len(m.Kind) + len(m.Resource) + len(m.Name) + len(m.Namespace)
}

// boundConditions returns the conditions to keep, without messages: the first of each type, and the first few of the types that no rule
// reads.
func boundConditions(reported []metav1.Condition) []metav1.Condition {
	var kept []metav1.Condition
	seen, others := make(map[string]bool, min(len(reported), len(readConditions)+maxOtherConditions)), 0
	for i := range reported {
		c := reported[i]
		if seen[c.Type] || len(c.Type) > maxType {
			continue
		}
		if !readConditions.Has(c.Type) {
			if others == maxOtherConditions {
				continue
			}
			others++
		}
		seen[c.Type] = true
		c.Message = ""
		if len(c.Reason) > maxReason {
			c.Reason = strings.ToValidUTF8(c.Reason[:maxReason], "")
		}
		kept = append(kept, c)
	}
	return kept
}

// keepUnreported adds the conditions of a generation whose types a report lacks. An agent never removes a condition
// that a rule of the same generation set. Both lists are bounded.
func keepUnreported(before, reported []metav1.Condition, generation int64) []metav1.Condition {
	for _, condition := range unreported(before, reported) {
		if condition.ObservedGeneration == generation {
			reported = append(reported, condition)
		}
	}
	return reported
}
