package handover

import (
	"fmt"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// maxResources is the maximum number of possible resources of one kept object: each adds an entry to manifestConfigs.
const maxResources = 8

// groupResource is a resource of a group.
type groupResource struct{ group, resource string }

// objectName is the name of an object of any kind.
type objectName struct{ group, namespace, name string }

// index is an index of the entries of two revisions, so that their lists are not searched for each object.
type index struct {
	// ids are the objects of the new revision. byName has the first object with each name.
	ids    map[identity]bool
	byName map[objectName]string
	// kinds has the kinds that suggest each resource, at most two of them.
	kinds map[groupResource][]string
	// strategies finds the update strategy of an object of the old revision.
	strategies *revision.ConfigIndex
	// orphanedBefore and orphaned are the objects that rules of the old and the new revision orphan.
	orphanedBefore, orphaned map[workv1.ResourceIdentifier]bool
	// named are the identifiers in manifestConfigs and orphaning rules of the two revisions, by group.
	named map[string]*namedIDs
	// budget bounds the comparisons with patterns.
	budget *revision.Comparisons
}

// namedIDs are the identifiers of a group.
type namedIDs struct {
	resources map[string]bool
	// exact has the resources with which identifiers without a star name an object. Each occurs once, and an object has at most
	// maxResources+1 of them.
	exact map[objectName][]string
	// starred are the identifiers with a star, in their original order.
	starred []starredID
}

type starredID struct {
	revision.Pattern
	resource string
}

func newIndex(to, from *workv1.ManifestWorkSpec, objects, earlier []object) *index {
	x := &index{
		ids: map[identity]bool{}, byName: map[objectName]string{}, kinds: map[groupResource][]string{}, named: map[string]*namedIDs{},
		orphanedBefore: orphaned(from.DeleteOption), orphaned: orphaned(to.DeleteOption), budget: revision.NewComparisons(),
	}
	x.strategies = revision.NewStrategyIndex(from.ManifestConfigs, x.budget)
	for i := range objects {
		x.ids[objects[i].id] = true
		if _, earlier := x.byName[objects[i].objectName()]; !earlier {
			x.byName[objects[i].objectName()] = objects[i].name
		}
	}
	for _, all := range [][]object{objects, earlier} {
		for i := range all {
			of := groupResource{all[i].id.group, all[i].resource}
			if known := x.kinds[of]; len(known) < 2 && !slices.Contains(known, all[i].id.kind) {
				x.kinds[of] = append(known, all[i].id.kind)
			}
		}
	}
	for _, spec := range []*workv1.ManifestWorkSpec{from, to} {
		for i := range spec.ManifestConfigs {
			x.name(&spec.ManifestConfigs[i].ResourceIdentifier)
		}
		for _, rule := range orphaningRules(spec.DeleteOption) {
			id := workv1.ResourceIdentifier(rule)
			x.name(&id)
		}
	}
	return x
}

func orphaned(option *workv1.DeleteOption) map[workv1.ResourceIdentifier]bool {
	rules := map[workv1.ResourceIdentifier]bool{}
	for _, rule := range orphaningRules(option) {
		rules[workv1.ResourceIdentifier(rule)] = true
	}
	return rules
}

func (x *index) name(id *workv1.ResourceIdentifier) {
	group := x.named[id.Group]
	if group == nil {
		group = &namedIDs{resources: map[string]bool{}, exact: map[objectName][]string{}}
		x.named[id.Group] = group
	}
	group.resources[id.Resource] = true
	if revision.Starred(id.Namespace, id.Name) {
		group.starred = append(group.starred, starredID{revision.NewPattern(id.Namespace, id.Name), id.Resource})
		return
	}
	of := objectName{id.Group, id.Namespace, id.Name}
	if known := group.exact[of]; len(known) <= maxResources && !slices.Contains(known, id.Resource) {
		group.exact[of] = append(known, id.Resource)
	}
}

// ofAnotherKind reports whether the kind of another object of the two revisions suggests a resource.
func (x *index) ofAnotherKind(o *object, resource string) bool {
	return slices.ContainsFunc(x.kinds[groupResource{o.id.group, resource}], func(kind string) bool { return kind != o.id.kind })
}

// candidates returns the resource that an object's kind suggests first. If no entry or rule names that resource, it also returns the
// resources that matching entries and rules name, at most maxResources+1 in total.
func (c *combiner) candidates(o *object) []string {
	found := []string{o.resource}
	group := c.named[o.id.group]
	if group == nil || revision.BuiltIn(o.id.group) || group.resources[o.resource] {
		return found
	}
	add := func(resource string) bool {
		if !slices.Contains(found, resource) && !c.ofAnotherKind(o, resource) {
			found = append(found, resource)
		}
		return len(found) <= maxResources && !c.budget.Spent()
	}
	if c.eachNamed(o, group, add) {
		slices.Sort(found[1:])
	}
	return found
}

// eachNamed calls add with each resource that is named by a group's entries and rules that match an object. It stops when add returns
// false or the budget is spent, and reports whether it reached the end.
func (c *combiner) eachNamed(o *object, group *namedIDs, add func(resource string) bool) bool {
	for _, resource := range group.exact[o.objectName()] {
		if !add(resource) {
			return false
		}
	}
	for i := range group.starred {
		if id := &group.starred[i]; id.Matches(o.id.namespace, o.id.name, c.budget) && !add(id.resource) || c.budget.Spent() {
			return false
		}
	}
	return true
}

// exceeded returns why the two revisions have too many manifestConfigs for an object that might be kept; empty if they do not.
func (c *combiner) exceeded(o *object, resources []string) string {
	switch {
	case c.budget.Spent():
		return fmt.Sprintf("%s of the two revisions have too many names with a *: at most %d comparisons with the dropped objects are made",
			configsField, revision.MaxConfigPairs)
	case len(resources) > maxResources:
		return fmt.Sprintf("%s of the two revisions name more than %d resources that may be the one of %s: name its resource exactly",
			configsField, maxResources, o.name)
	}
	return ""
}
