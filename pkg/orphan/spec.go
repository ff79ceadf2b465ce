package orphan

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// released returns the spec with which an agent releases every object. Manifests and executor stay the same, so the executor's permissions
// are checked as before, except the permission to delete.
func released(work *workv1.ManifestWork) *workv1.ManifestWorkSpec {
	spec := work.Spec
	spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	spec.ManifestConfigs = configs(work)
	return &spec
}

// uncompleted returns the spec that makes an agent forget that a ManifestWork ran to completion. Its deleteOption differs from that of the
// release, because an agent applies a previously complete ManifestWork only when its spec changes again.
func uncompleted(work *workv1.ManifestWork) *workv1.ManifestWorkSpec {
	spec := work.Spec
	spec.ManifestConfigs = configs(work)
	if orphans(&spec) {
		spec.DeleteOption = nil
	}
	if spec.DeleteOption != nil {
		spec.DeleteOption = spec.DeleteOption.DeepCopy()
		spec.DeleteOption.TTLSecondsAfterFinished = nil
	}
	return &spec
}

// configs returns an exact entry for each object that the agent reports, followed by the ManifestWork's entries for other objects. An
// agent that updates an object keeps the ownerReference if the update is rejected. With CreateOnly, it patches only the ownerReferences.
// Condition rules are removed: an object that completes in the meantime would not be released.
//
// An agent removes a completion only when it checks the object. So the completion of a deleted object stays, and the ManifestWork is
// complete unless another object is incomplete. In this case, all other objects get a rule that keeps them from completing.
func configs(work *workv1.ManifestWork) []workv1.ManifestConfigOption {
	manifests := work.Spec.Workload.Manifests
	options := make([]workv1.ManifestConfigOption, 0, len(manifests)+len(work.Spec.ManifestConfigs))
	named := make(map[workv1.ResourceIdentifier]bool, len(manifests))
	var rules []workv1.ConditionRule
	if slices.ContainsFunc(work.Status.ResourceStatus.Manifests, func(m workv1.ManifestCondition) bool { return finished(&m) }) {
		rules = neverComplete()
	}
	for i := range work.Status.ResourceStatus.Manifests {
		m := &work.Status.ResourceStatus.Manifests[i]
		id := identify(&m.ResourceMeta)
		if id.Resource == "" || named[id] || !describes(manifests, &m.ResourceMeta) {
			continue
		}
		named[id] = true
		option := workv1.ManifestConfigOption{ResourceIdentifier: id, UpdateStrategy: &workv1.UpdateStrategy{Type: strategyFor(work, m)}}
		if !finished(m) {
			option.ConditionRules = rules
		}
		options = append(options, option)
	}
	return append(options, otherConfigs(work, named)...)
}

// otherConfigs returns the ManifestWork's entries for objects that the agent does not currently report.
func otherConfigs(work *workv1.ManifestWork, named map[workv1.ResourceIdentifier]bool) []workv1.ManifestConfigOption {
	var options []workv1.ManifestConfigOption
	// An object that is currently not reported has an entry that an earlier release wrote. The limit keeps an agent that reports different
	// objects each time from adding more entries.
	spare := len(work.Spec.Workload.Manifests)
	for i := range work.Spec.ManifestConfigs {
		option := work.Spec.ManifestConfigs[i]
		option.ConditionRules = nil
		if named[option.ResourceIdentifier] || option.UpdateStrategy == nil && len(option.FeedbackRules) == 0 {
			continue
		}
		if option.UpdateStrategy != nil && isReleased(option.UpdateStrategy.Type) {
			if spare--; spare < 0 {
				continue
			}
			option.ResourceIdentifier = ofTemplate(work, option.ResourceIdentifier)
		}
		options = append(options, option)
	}
	return options
}

// neverComplete returns the rule that keeps an object from completing.
func neverComplete() []workv1.ConditionRule {
	return []workv1.ConditionRule{{
		Condition: workv1.ManifestComplete, Type: workv1.CelConditionExpressionsType, CelExpressions: []string{"false"},
	}}
}

// ofTemplate returns the identifier of an entry of the template, for an object whose resource the agent does not report. The identifier is
// a pattern, so that the entry is not mistaken for an entry of the release (knownBefore). The exact entries of all reported objects come
// before it.
func ofTemplate(work *workv1.ManifestWork, id workv1.ResourceIdentifier) workv1.ResourceIdentifier {
	if !orphans(&work.Spec) && !strings.Contains(id.Name, "*") {
		id.Name += "*"
	}
	return id
}

// describes reports whether a condition that the agent reports belongs to a manifest of the ManifestWork.
func describes(manifests []workv1.Manifest, of *workv1.ManifestResourceMeta) bool {
	if of.Ordinal < 0 || int(of.Ordinal) >= len(manifests) {
		return false
	}
	_, id, err := revision.Identify(&manifests[of.Ordinal])
	return err == nil && id.Name != "" && id.Name == of.Name
}

// strategyFor returns the strategy with which an object is released. CreateOnly creates a missing object. So a read-only object stays
// read-only unless it exists, and an object that ran to completion and was deleted becomes read-only: otherwise, a Job would run again.
func strategyFor(work *workv1.ManifestWork, m *workv1.ManifestCondition) workv1.UpdateStrategyType {
	readOnly := strategyOf(work.Spec.ManifestConfigs, &m.ResourceMeta) == workv1.UpdateStrategyTypeReadOnly
	over := workCompleted(work) || isComplete(m)
	there := meta.IsStatusConditionTrue(m.Conditions, workv1.ManifestAvailable)
	if readOnly && !there || over && isMissing(m) {
		return workv1.UpdateStrategyTypeReadOnly
	}
	return workv1.UpdateStrategyTypeCreateOnly
}

// strategyOf returns the strategy with which an agent applies an object: that of the first matching entry with a strategy.
func strategyOf(options []workv1.ManifestConfigOption, of *workv1.ManifestResourceMeta) workv1.UpdateStrategyType {
	for i := range options {
		id := &options[i].ResourceIdentifier
		if options[i].UpdateStrategy != nil && id.Group == of.Group && id.Resource == of.Resource &&
			revision.MatchesName(id.Namespace, of.Namespace) && revision.MatchesName(id.Name, of.Name) {
			return options[i].UpdateStrategy.Type
		}
	}
	return workv1.UpdateStrategyTypeUpdate
}

func identify(m *workv1.ManifestResourceMeta) workv1.ResourceIdentifier {
	return workv1.ResourceIdentifier{Group: m.Group, Resource: m.Resource, Namespace: m.Namespace, Name: m.Name}
}

// Equivalent reports whether two specs of one ManifestWork mean the same to its agent. The API server sets defaults, and an older CRD
// drops them.
func Equivalent(a, b *workv1.ManifestWorkSpec) bool {
	return equality.Semantic.DeepEqual(a.DeleteOption, b.DeleteOption) &&
		slices.EqualFunc(a.ManifestConfigs, b.ManifestConfigs, sameOption)
}

func sameOption(a, b workv1.ManifestConfigOption) bool {
	a.FeedbackScrapeType, b.FeedbackScrapeType = "", ""
	return equality.Semantic.DeepEqual(a, b)
}
