package revision

import (
	"fmt"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	// MaxConfigPairs is the maximum number of manifests times manifestConfigs of a template, for example 500 of each. The hub and every agent
	// look up the configs of each manifest.
	MaxConfigPairs = 250_000
	// maxComparisons is the maximum number of comparisons of names with patterns for one template. A comparison of long texts counts as
	// several.
	maxComparisons = MaxConfigPairs
	// comparedBytes is the number of bytes of names and patterns that count as one comparison.
	comparedBytes = 64
	// maxStarredName is the maximum length of a name that is compared with a pattern. Objects have names of up to 253 characters.
	maxStarredName = 1024
)

// TooManyConfigs is the message about a template with too many manifestConfigs, for fmt.Sprintf: their number, the number of manifests,
// and the limit on the product.
const TooManyConfigs = "%d manifestConfigs for %d manifests are more than are compared: their product is limited to %d; " +
	"let one entry with a * in its name stand for several objects, or split the template"

// ConfigProblem returns the reason why the hub does not roll out a template with this many manifestConfigs; empty if the number is within
// the bound.
func ConfigProblem(template *workv1.ManifestWorkSpec) string {
	manifests, configs := len(template.Workload.Manifests), len(template.ManifestConfigs)
	if manifests*configs <= MaxConfigPairs {
		return ""
	}
	return fmt.Sprintf(TooManyConfigs, configs, manifests, MaxConfigPairs)
}

// Comparisons is the remaining number of comparisons of names with patterns. If it is negative, there were too many, and the results of
// the rest are unknown.
type Comparisons int

// NewComparisons returns the budget for one or two templates.
func NewComparisons() *Comparisons {
	budget := Comparisons(maxComparisons)
	return &budget
}

// Spent reports whether the comparisons exceeded the budget.
func (c *Comparisons) Spent() bool { return *c < 0 }

// spend counts a comparison of this many bytes, and reports whether the budget allows it.
func (c *Comparisons) spend(bytes int) bool {
	if *c >= 0 {
		*c -= Comparisons(1 + bytes/comparedBytes)
	}
	return *c >= 0
}

// Pattern is a namespace and a name in which a star matches any text.
type Pattern struct{ namespace, name string }

// NewPattern returns the pattern of an identifier. Consecutive stars mean the same as one star.
func NewPattern(namespace, name string) Pattern {
	return Pattern{namespace: oneStar(namespace), name: oneStar(name)}
}

// Starred reports whether an identifier with this namespace and name can match several objects.
func Starred(namespace, name string) bool {
	return strings.Contains(namespace, "*") || strings.Contains(name, "*")
}

// Matches reports whether the pattern matches an object. Once the budget is spent, nothing matches.
func (p *Pattern) Matches(namespace, name string, budget *Comparisons) bool {
	return budget.spend(len(p.name)+len(name)+len(p.namespace)+len(namespace)) && fits(p.name, name) && fits(p.namespace, namespace) &&
		MatchesName(p.name, name) && MatchesName(p.namespace, namespace)
}

// fits reports whether a name is not too long for an object, and long enough for a pattern without consecutive stars.
func fits(pattern, name string) bool {
	return len(name) <= maxStarredName && len(pattern) <= 2*len(name)+1
}

func oneStar(pattern string) string {
	if !strings.Contains(pattern, "**") {
		return pattern
	}
	var out strings.Builder
	for i := range len(pattern) {
		if pattern[i] != '*' || i == 0 || pattern[i-1] != '*' {
			out.WriteByte(pattern[i])
		}
	}
	return out.String()
}

// MatchesName reports whether a name matches a pattern in which a star matches any text. It takes time proportional to the lengths of
// both, and allocates no memory.
func MatchesName(pattern, name string) bool {
	prefix, rest, starred := strings.Cut(pattern, "*")
	if !starred {
		return pattern == name
	}
	left, ok := strings.CutPrefix(name, prefix)
	for ok {
		var part string
		if part, rest, starred = strings.Cut(rest, "*"); !starred {
			return strings.HasSuffix(left, part)
		}
		_, left, ok = strings.Cut(left, part)
	}
	return false
}

// ConfigIndex finds the first manifestConfig for an object.
type ConfigIndex struct {
	configs []workv1.ManifestConfigOption
	// exact are the configs that name one object, by their place in the list.
	exact map[workv1.ResourceIdentifier]int
	// starred are the other configs of a group and resource, in order.
	starred map[workv1.ResourceIdentifier][]starred
	budget  *Comparisons
}

type starred struct {
	Pattern
	place int
}

// NewConfigIndex returns an index of the relevant configs.
func NewConfigIndex(
	configs []workv1.ManifestConfigOption, counts func(*workv1.ManifestConfigOption) bool, budget *Comparisons,
) *ConfigIndex {
	index := &ConfigIndex{
		configs: configs, exact: map[workv1.ResourceIdentifier]int{}, starred: map[workv1.ResourceIdentifier][]starred{}, budget: budget,
	}
	for i := range configs {
		if !counts(&configs[i]) {
			continue
		}
		id := configs[i].ResourceIdentifier
		if Starred(id.Namespace, id.Name) {
			all := workv1.ResourceIdentifier{Group: id.Group, Resource: id.Resource}
			index.starred[all] = append(index.starred[all], starred{Pattern: NewPattern(id.Namespace, id.Name), place: i})
		} else if _, earlier := index.exact[id]; !earlier {
			index.exact[id] = i
		}
	}
	return index
}

// byUpdate is the strategy of objects without a config that sets one.
var byUpdate = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeUpdate}

// NewStrategyIndex returns an index of the configs with an update strategy.
func NewStrategyIndex(configs []workv1.ManifestConfigOption, budget *Comparisons) *ConfigIndex {
	return NewConfigIndex(configs, func(config *workv1.ManifestConfigOption) bool { return config.UpdateStrategy != nil }, budget)
}

// Strategy returns the update strategy that an agent uses for an object, without a copy. The index must come from NewStrategyIndex.
func (x *ConfigIndex) Strategy(id workv1.ResourceIdentifier) *workv1.UpdateStrategy {
	if place, found := x.First(id); found {
		return x.configs[place].UpdateStrategy
	}
	return byUpdate
}

// First returns the place of the first config for an object; false if there is no such config.
func (x *ConfigIndex) First(id workv1.ResourceIdentifier) (place int, found bool) {
	place, found = x.exact[id]
	all := x.starred[workv1.ResourceIdentifier{Group: id.Group, Resource: id.Resource}]
	for i := range all {
		if found && all[i].place > place || x.budget.Spent() {
			break
		}
		if all[i].Matches(id.Namespace, id.Name, x.budget) {
			return all[i].place, true
		}
	}
	return place, found
}
