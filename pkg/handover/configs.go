package handover

import (
	"fmt"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"
)

// unowned reports whether agents do not own an object of the old spec: it is read-only, or orphaned. If such an object were kept, the
// agent would take it over, and eventually delete it.
func (c *combiner) unowned(o *object) bool {
	if option := c.from.DeleteOption; option != nil && option.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan {
		return true
	}
	return c.unownedAs(o, o.resource)
}

// unownedAs reports whether an object is unowned according to the old spec, assuming that its resource is the given one.
func (c *combiner) unownedAs(o *object, resource string) bool {
	id := o.as(resource)
	return c.strategies.Strategy(id).Type == workv1.UpdateStrategyTypeReadOnly || c.orphanedBefore[id]
}

// freed returns the reason why agents would release an object instead of deleting it when it is trimmed. It is empty if they would delete
// the object.
func (c *combiner) freed(o *object, resources []string) string {
	if slices.ContainsFunc(resources, func(resource string) bool { return c.orphaned[o.as(resource)] }) {
		return "deleteOption.selectivelyOrphans of the new revision names it, and an orphaned object would never be deleted"
	}
	return ""
}

func orphaningRules(option *workv1.DeleteOption) []workv1.OrphaningRule {
	if option == nil || option.PropagationPolicy != workv1.DeletePropagationPolicyTypeSelectivelyOrphan || option.SelectivelyOrphan == nil {
		return nil
	}
	return option.SelectivelyOrphan.OrphaningRules
}

// entriesOf returns the manifestConfigs of a kept object, which keep its update strategy. They come first, and name the object exactly, so
// that no entry of the new revision sets another strategy. The strategies are shared with the old spec.
func (c *combiner) entriesOf(o *object, resources []string) []workv1.ManifestConfigOption {
	entries := make([]workv1.ManifestConfigOption, 0, len(resources))
	for _, resource := range resources {
		id := o.as(resource)
		entries = append(entries, workv1.ManifestConfigOption{ResourceIdentifier: id, UpdateStrategy: c.strategies.Strategy(id)})
	}
	return entries
}

// resources returns the possible resources (plurals) of an object. The hub knows the kind of an object, but agents look up entries by
// resource. An entry for each resource that a manifestConfig names is always correct. problem is the reason why the object can't be kept.
// exceeded is the bound that the manifestConfigs exceed.
func (c *combiner) resources(o *object) (resources []string, problem, exceeded string) {
	if strings.Contains(o.id.name, "*") {
		return nil, "its name contains a *, which stands for any name in manifestConfigs", ""
	}
	resources = c.candidates(o)
	if exceeded = c.exceeded(o, resources); exceeded != "" {
		return nil, "", exceeded
	}
	for _, resource := range resources[1:] {
		if c.unownedAs(o, resource) {
			return nil, fmt.Sprintf("the old revision makes objects of the resource %q read only or orphans them, and this may be one of them", resource), ""
		}
		if other, same := c.byName[o.objectName()]; same {
			return nil, fmt.Sprintf("the new revision has %s, and manifestConfigs of the resource %q may apply to either of the two", other, resource), ""
		}
	}
	return resources, "", c.exceeded(o, resources)
}
