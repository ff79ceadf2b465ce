package orphan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// reasonMissing is the reason that an agent gives if the object of a manifest does not exist.
const reasonMissing = "ResourceNotAvailable"

// givenUp reports whether the agent has released every object of a ManifestWork at a generation, and returns those that it could not
// release.
func givenUp(work *workv1.ManifestWork, generation int64) (bool, []Manifest) {
	if !orphans(&work.Spec) || completed(work) || !applied(work, generation) {
		return false, nil
	}
	reported := make(map[int32]*workv1.ManifestCondition, len(work.Status.ResourceStatus.Manifests))
	for i := range work.Status.ResourceStatus.Manifests {
		m := &work.Status.ResourceStatus.Manifests[i]
		reported[m.ResourceMeta.Ordinal] = m
	}
	var held []Manifest
	for i := range work.Spec.Workload.Manifests {
		if m := reported[int32(i)]; m == nil { //nolint:gosec // A ManifestWork has fewer manifests.
			held = append(held, Manifest{Name: fmt.Sprintf("manifest %d", i), Message: "the agent does not report it"})
		} else if words := holds(work, m, generation); words != "" {
			held = append(held, Manifest{Name: nameOf(&m.ResourceMeta), Message: words})
		}
	}
	return len(held) == 0, held
}

// holds returns why the agent may still own the object of a manifest; empty if it does not.
func holds(work *workv1.ManifestWork, m *workv1.ManifestCondition, generation int64) string {
	result := meta.FindStatusCondition(m.Conditions, workv1.ManifestApplied)
	switch {
	case m.ResourceMeta.Resource == "":
		if !knownBefore(work, &m.ResourceMeta) {
			return "" // The cluster does not know the kind, and did not know it at the release.
		}
		return messageOf(result)
	case result == nil || result.ObservedGeneration != generation:
		return "the agent has not applied it"
	case missing(work, m, generation):
		return ""
	case result.Status != metav1.ConditionTrue:
		return messageOf(result)
	case strategyOf(work.Spec.ManifestConfigs, &m.ResourceMeta) == workv1.UpdateStrategyTypeReadOnly:
		return "it is read only, and the agent does not report whether it exists"
	}
	return ""
}

// missing reports whether the agent saw a generation, then looked for the object of a manifest, and did not find it. The conditions of a
// manifest have no generation, so the generation in the condition of the ManifestWork counts.
func missing(work *workv1.ManifestWork, m *workv1.ManifestCondition, generation int64) bool {
	looked := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkAvailable)
	return looked != nil && looked.ObservedGeneration >= generation && isMissing(m)
}

// nothingLeft reports whether a ManifestWork is complete, and its agent found none of its objects after it saw the generation that forbids
// it to recreate them. The entries of existing objects differ, so objects that are deleted with the ManifestWork do not count.
func nothingLeft(work *workv1.ManifestWork, generation int64) bool {
	reported := work.Status.ResourceStatus.Manifests
	if len(reported) == 0 || !completed(work) || !Equivalent(&work.Spec, uncompleted(work)) {
		return false
	}
	for i := range reported {
		unknown := reported[i].ResourceMeta.Resource == "" && !knownBefore(work, &reported[i].ResourceMeta)
		if !unknown && !missing(work, &reported[i], generation) {
			return false
		}
	}
	return true
}

func isMissing(m *workv1.ManifestCondition) bool {
	found := meta.FindStatusCondition(m.Conditions, workv1.ManifestAvailable)
	return found != nil && found.Status == metav1.ConditionFalse && found.Reason == reasonMissing
}

// knownBefore reports whether the cluster knew the kind of a manifest when the ManifestWork was released. If it did, the release has an
// entry for the object that no other manifest explains. A temporary discovery failure must not look like a kind that never existed.
func knownBefore(work *workv1.ManifestWork, of *workv1.ManifestResourceMeta) bool {
	for i := range work.Spec.ManifestConfigs {
		option := &work.Spec.ManifestConfigs[i]
		id := option.ResourceIdentifier
		if option.UpdateStrategy != nil && isReleased(option.UpdateStrategy.Type) &&
			id.Group == of.Group && id.Namespace == of.Namespace && id.Name == of.Name && !isReported(work, id) {
			return true
		}
	}
	return false
}

func isReleased(strategy workv1.UpdateStrategyType) bool {
	return strategy == workv1.UpdateStrategyTypeCreateOnly || strategy == workv1.UpdateStrategyTypeReadOnly
}

func isReported(work *workv1.ManifestWork, id workv1.ResourceIdentifier) bool {
	for i := range work.Status.ResourceStatus.Manifests {
		if identify(&work.Status.ResourceStatus.Manifests[i].ResourceMeta) == id {
			return true
		}
	}
	return false
}

func messageOf(result *metav1.Condition) string {
	if result == nil || result.Message == "" {
		return "the agent gives no reason"
	}
	return result.Message
}

func nameOf(m *workv1.ManifestResourceMeta) string {
	if m.Name == "" {
		return fmt.Sprintf("manifest %d", m.Ordinal)
	}
	return strings.TrimSpace(m.Kind + " " + strings.TrimPrefix(m.Namespace+"/"+m.Name, "/"))
}
