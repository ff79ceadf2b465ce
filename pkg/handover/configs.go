package handover

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"
)

// unowned reports whether agents do not own an object of the old spec: it is read only, or orphaned. To keep such an object would take it over,
// and delete it in the end.
func (c *combiner) unowned(o object) bool {
	if option := c.from.DeleteOption; option != nil && option.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan {
		return true
	}
	return c.unownedAs(o, o.resource)
}

// unownedAs reports whether the old spec says so of an object, if that is of a resource.
func (c *combiner) unownedAs(o object, resource string) bool {
	strategy := strategyOf(c.from.ManifestConfigs, o, resource)
	return strategy != nil && strategy.Type == workv1.UpdateStrategyTypeReadOnly || orphans(c.from.DeleteOption, o, resource)
}

// freed returns why agents would let an object go instead of deleting it when it is trimmed; empty where they would delete it.
func (c *combiner) freed(o object, resources []string) string {
	if slices.ContainsFunc(resources, func(resource string) bool { return orphans(c.to.DeleteOption, o, resource) }) {
		return "deleteOption.selectivelyOrphans of the new revision names it, and an orphaned object would stay on the cluster for good"
	}
	return ""
}

// orphans reports whether a rule of deleteOption orphans an object, if that is of a resource.
func orphans(option *workv1.DeleteOption, o object, resource string) bool {
	return slices.ContainsFunc(orphaningRules(option), func(rule workv1.OrphaningRule) bool {
		return rule.Group == o.id.group && rule.Namespace == o.id.namespace && rule.Name == o.id.name && rule.Resource == resource
	})
}

// orphaningRules are the rules that count.
func orphaningRules(option *workv1.DeleteOption) []workv1.OrphaningRule {
	if option == nil || option.PropagationPolicy != workv1.DeletePropagationPolicyTypeSelectivelyOrphan || option.SelectivelyOrphan == nil {
		return nil
	}
	return option.SelectivelyOrphan.OrphaningRules
}

// entriesOf are the manifestConfigs of a kept object: it keeps the update strategy that it had. They come first, and name the object exactly,
// so that no entry of the new revision sets another strategy.
func (c *combiner) entriesOf(o object, resources []string) []workv1.ManifestConfigOption {
	entries := make([]workv1.ManifestConfigOption, 0, len(resources))
	for _, resource := range resources {
		strategy := strategyOf(c.from.ManifestConfigs, o, resource)
		if strategy == nil {
			strategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeUpdate}
		}
		entries = append(entries, workv1.ManifestConfigOption{
			ResourceIdentifier: workv1.ResourceIdentifier{Group: o.id.group, Resource: resource, Namespace: o.id.namespace, Name: o.id.name},
			UpdateStrategy:     strategy.DeepCopy(),
		})
	}
	return entries
}

// strategyOf returns the update strategy that an agent takes for an object, if that is of a resource: that of the first entry which has one. It
// returns nil where no entry has one.
func strategyOf(configs []workv1.ManifestConfigOption, o object, resource string) *workv1.UpdateStrategy {
	for i := range configs {
		if config := &configs[i]; config.UpdateStrategy != nil && config.ResourceIdentifier.Resource == resource && o.matches(&config.ResourceIdentifier) {
			return config.UpdateStrategy
		}
	}
	return nil
}

// builtIn are the groups with a dot whose kinds Kubernetes itself defines: their plurals follow the rule. So do those of groups without a dot.
var builtIn = sets.New("admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "certificates.k8s.io", "coordination.k8s.io",
	"discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io",
	"resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io")

// resources returns the resources (plurals) that an object may be of. The hub knows the kind of an object, and agents look entries up by resource
// : an entry for each that a manifestConfig names is right whichever of them it is. problem says why the object can't be kept.
func (c *combiner) resources(o object) (resources []string, problem string) {
	if strings.Contains(o.id.name, "*") {
		return nil, "its name contains a *, which stands for any name in manifestConfigs"
	}
	resources = c.candidates(o)
	for _, resource := range resources[1:] {
		if c.unownedAs(o, resource) {
			return nil, fmt.Sprintf("the old revision makes objects of the resource %q read only or orphans them, and this may be one of them", resource)
		}
		for _, other := range c.objects {
			if o.sameName(other) {
				return nil, fmt.Sprintf("the new revision has %s, and manifestConfigs of the resource %q may be for either of the two", other.name, resource)
			}
		}
	}
	return resources, ""
}

// candidates returns the resource that an object's kind suggests first. Where no entry and no rule names that one, those follow that entries and
// rules name which match the object.
func (c *combiner) candidates(o object) []string {
	found := []string{o.resource}
	if !strings.Contains(o.id.group, ".") || builtIn.Has(o.id.group) {
		return found
	}
	for _, id := range c.named() {
		switch {
		case id.Group != o.id.group:
		case id.Resource == o.resource:
			return found[:1]
		case o.matches(&id) && !slices.Contains(found, id.Resource) && !c.ofAnotherKind(o, id.Resource):
			found = append(found, id.Resource)
		}
	}
	slices.Sort(found[1:])
	return found
}

// named are the identifiers in the manifestConfigs and the orphaning rules of the two revisions.
func (c *combiner) named() []workv1.ResourceIdentifier {
	var ids []workv1.ResourceIdentifier
	for _, spec := range []*workv1.ManifestWorkSpec{c.from, c.to} {
		for i := range spec.ManifestConfigs {
			ids = append(ids, spec.ManifestConfigs[i].ResourceIdentifier)
		}
		for _, rule := range orphaningRules(spec.DeleteOption) {
			ids = append(ids, workv1.ResourceIdentifier(rule))
		}
	}
	return ids
}

// ofAnotherKind reports whether the kind of another object of the two revisions suggests a resource.
func (c *combiner) ofAnotherKind(o object, resource string) bool {
	is := func(other object) bool {
		return other.id.group == o.id.group && other.id.kind != o.id.kind && other.resource == resource
	}
	return slices.ContainsFunc(c.objects, is) || slices.ContainsFunc(c.earlier, is)
}
