package rule

import (
	"fmt"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// MaxCompared is the maximum number of manifests that CEL compares with each other: CEL must compare every pair, and an expression has a
// budget.
const MaxCompared = 100

// LongName is about a name that is too long to find its works again. The arguments are the label, its value, the length
// of the value, and the limit. A name can't change, so only creations are rejected.
var LongName = Rule{
	Text: "the label %s=%s of the ManifestWorks would have %d characters, and a label value may have at most %d: " +
		"use a shorter name or namespace",
	Checks: []Check{{
		Variables: []Variable{{"ownerLabel", "object.metadata.namespace + '.' + object.metadata.name"}},
		Holds:     fmt.Sprintf("oldObject != null || size(variables.ownerLabel) <= %d", workv1alpha1.MaxOwnerLabelLength),
		Field:     "'metadata.name'",
		Args: []string{
			"'" + workv1alpha1.LabelReplicaSet + "'", "variables.ownerLabel", "size(variables.ownerLabel)",
			fmt.Sprint(workv1alpha1.MaxOwnerLabelLength),
		},
	}},
}

// NoManifests is about a template without manifests.
var NoManifests = Rule{
	Required: true,
	Text:     "manifests should not be empty: name at least one object to apply",
	Checks: []Check{{
		Holds: "size(variables.manifests) > 0 || (oldObject != null && size(variables.oldManifests) == 0)",
		Field: "'" + manifestsPath + "'",
	}},
}

// Unnamed is about a manifest without a name. The text is that of OCM's validator. The policy admits it in updates of
// objects that had more than maxKept such manifests, because CEL compares every pair.
var Unnamed = Rule{
	Text:   "name must be set in manifest",
	Checks: []Check{manifestCheck("unnamed", "m.?metadata.?name.orValue('') == ''")},
}

// Generated is about a manifest with a generated name. The text is that of OCM's validator. The policy admits it in the same updates as
// Unnamed.
var Generated = Rule{
	Text:   "generateName must not be set in manifest",
	Checks: []Check{manifestCheck("generated", "m.?metadata.?name.orValue('') != '' && m.?metadata.?generateName.orValue('') != ''")},
}

// maxKept is the maximum number of bad manifests in the older version that CEL compares with the bad manifests of an
// update.
const maxKept = 10

// manifestCheck returns the check of a condition on each manifest m. A bad manifest that the older object has, at any index, is an old
// problem.
func manifestCheck(name, bad string) Check {
	old, found := name+"Before", name+"Now"
	return Check{
		Variables: []Variable{
			{old, "variables.oldManifests.filter(m, " + bad + ")"},
			{found, fmt.Sprintf("size(%s) > %d ? [] : variables.manifests.filter(m, (%s) && !(m in %s))", variable(old), maxKept, bad, variable(old))},
		},
		Holds: "size(" + variable(found) + ") == 0",
		Field: item(manifestsPath, "variables.manifests.indexOf("+variable(found)+"[0])"),
	}
}

// Twice is about a manifest that is listed twice. The arguments are its name and the path of the first occurrence. The
// policy admits it in templates with more than MaxCompared manifests, because CEL compares every pair.
var Twice = Rule{
	Text: "duplicate manifest: %s is already listed as %s: remove one of the two",
	Checks: []Check{{
		Variables: []Variable{
			{"names", "variables.manifests.map(m, " + nameOf + ")"},
			{"oldNames", "variables.oldManifests.map(m, " + nameOf + ")"},
			// An update adds a problem if it repeats a manifest more often than the older object.
			{"repeated", fmt.Sprintf("size(variables.manifests) > %d ? [] : variables.names.filter(n, n != '' && "+
				"variables.names.indexOf(n) != variables.names.lastIndexOf(n) && "+
				"variables.names.filter(o, o == n).size() > variables.oldNames.filter(o, o == n).size())", MaxCompared)},
		},
		Holds: "size(variables.repeated) == 0",
		Field: item(manifestsPath, "variables.names.lastIndexOf(variables.repeated[0])"),
		Args:  []string{cut("variables.repeated[0]"), item(manifestsPath, "variables.names.indexOf(variables.repeated[0])")},
	}},
}

// nameOf identifies a manifest m as an agent does: by its group, kind, namespace and name. It is empty if the manifest has no name.
const nameOf = "[m.?metadata.?name.orValue('')].map(n, n == '' ? '' : m.kind + " +
	"(m.apiVersion.contains('/') ? '.' + m.apiVersion.substring(0, m.apiVersion.indexOf('/')) : '') + ' ' + " +
	"(m.?metadata.?namespace.orValue('') == '' ? '' : m.metadata.namespace + '/') + n)[0]"

// TooLarge is about the total size of all manifests. The text is that of OCM's validator. The policy always admits it,
// because CEL does not know the size of an object.
var TooLarge = Rule{
	Text: "%s: put some of them into another object, or raise --manifestLimit of the webhook",
}

// NoAccount is about an executor without a service account.
var NoAccount = Rule{
	Required: true,
	Text:     "name the service account that applies the manifests",
	Checks: []Check{{
		Holds: "variables.template.?executor.optMap(e, e.?subject.?serviceAccount.hasValue()).orValue(true) || " +
			"!variables.oldTemplate.?executor.optMap(e, e.?subject.?serviceAccount.hasValue()).orValue(true)",
		Field: "'spec.manifestWorkTemplate.executor.subject.serviceAccount'",
	}},
}

// TooManyConfigs is about too many manifestConfigs. The arguments are the numbers of manifestConfigs and manifests, and
// the limit of their product.
var TooManyConfigs = Rule{
	Text: revision.TooManyConfigs,
	Checks: []Check{{
		Holds: fmt.Sprintf("size(variables.configs) * size(variables.manifests) <= %d || size(variables.oldConfigs) * size(variables.oldManifests) > %d",
			revision.MaxConfigPairs, revision.MaxConfigPairs),
		Field: "'spec.manifestWorkTemplate.manifestConfigs'",
		Args:  []string{"size(variables.configs)", "size(variables.manifests)", fmt.Sprint(revision.MaxConfigPairs)},
	}},
}

// TooManyRefs is about too many placementRefs. The arguments are their number and the limit. The schema of the CRD
// rejects them before a policy could.
var TooManyRefs = Rule{
	Text: "has %d entries, and at most %d are allowed: select more clusters with each Placement, or create several ManifestWorkReplicaSets",
	Checks: []Check{{
		Holds: fmt.Sprintf("size(variables.refs) <= %d || size(variables.oldRefs) > %d", workv1alpha1.MaxPlacementRefs, workv1alpha1.MaxPlacementRefs),
		Field: "'" + refsPath + "'",
		Args:  []string{"size(variables.refs)", fmt.Sprint(workv1alpha1.MaxPlacementRefs)},
	}},
}

// SamePlacement is about a Placement that is named twice. The arguments are its name and the path of the first reference.
// The policy admits it in objects with more than MaxPlacementRefs placementRefs, which were stored before the CRD had that limit.
var SamePlacement = Rule{
	Text: "%q is already the Placement of %s, to which all its clusters belong: remove one of the two",
	Checks: []Check{{
		Variables: []Variable{
			{"placements", "variables.refs.map(r, r.name)"},
			{"oldPlacements", "variables.oldRefs.map(r, r.name)"},
			{"samePlacements", fmt.Sprintf("size(variables.refs) > %d ? [] : variables.placements.filter(n, "+
				"variables.placements.indexOf(n) != variables.placements.lastIndexOf(n) && "+
				"variables.placements.filter(o, o == n).size() > variables.oldPlacements.filter(o, o == n).size())", workv1alpha1.MaxPlacementRefs)},
		},
		Holds: "size(variables.samePlacements) == 0",
		Field: item(refsPath, "variables.placements.lastIndexOf(variables.samePlacements[0])") + " + '.name'",
		Args:  []string{"variables.samePlacements[0]", item(refsPath, "variables.placements.indexOf(variables.samePlacements[0])")},
	}},
}

// BadSoak is about a minSuccessTime that can't be decoded, in any part of a strategy. It quotes the value.
// The policy admits durations of more than 292 years.
var BadSoak = Rule{
	Text:   "%q is not a valid duration: use 0s for no soak, or a duration such as 30s, 5m or 1h30m",
	Checks: []Check{badSoak("all"), badSoak("progressive"), badSoak("progressivePerGroup")},
}

func badSoak(part string) Check {
	return valueOf{
		over: "refs", oldOver: "oldRefs", name: "e.name", part: "'" + part + "'", field: "minSuccessTime",
		value: "e.?rolloutStrategy[?'" + part + "'].?minSuccessTime.orValue('0')", bad: "!v.matches(" + goDuration + ")", shown: cut("v"),
	}.check("badSoak"+part, "")
}

// NegativeSoak is about a minSuccessTime below zero, if the type of the strategy uses it.
// The policy admits durations of more than 292 years.
var NegativeSoak = Rule{
	Text: placement.NegativeSoak,
	Checks: []Check{used("minSuccessTime", "e.config.?minSuccessTime.orValue('0')",
		"v.startsWith('-') && v.matches("+goDuration+") && v.matches("+notZero+")", "''").check("negativeSoak")},
}

// BadDeadline is about a progressDeadline, if the type of the strategy uses it. It quotes the value.
// The policy admits durations of more than 292 years, or below a nanosecond.
var BadDeadline = Rule{
	Text: placement.BadDeadline,
	Checks: []Check{used("progressDeadline", "e.config.?progressDeadline.orValue('')",
		"v != '' && v != 'None' && (!v.matches("+goDuration+") || v.startsWith('-') || !v.matches("+notZero+"))", cut("v")).check("badDeadline", "")},
}

// BadSize is about a maxFailures or maxConcurrency that is a string without %, if the type of the strategy uses it. It quotes the value.
// The policy admits percentages above 65535.
var BadSize = Rule{
	Text:   placement.BadSize,
	Checks: []Check{badSize("maxFailures", "e.config"), badSize("maxConcurrency", "e.config")},
}

func badSize(name, config string) Check {
	return used(name, config+".?"+name+".orValue(0)", "type(v) == string && !string(v).matches('^[0-9]+%$')", cut("v")).check("badSize"+name, "")
}

// NegativeSize is about a maxFailures or maxConcurrency below zero, if the type of the strategy uses it. It names the value.
var NegativeSize = Rule{
	Text:   placement.NegativeSize,
	Checks: []Check{negativeSize("maxFailures"), negativeSize("maxConcurrency")},
}

func negativeSize(name string) Check {
	return used(name, "e.config.?"+name+".orValue(0)", "type(v) == int && int(v) < 0", "v").check("negativeSize"+name, "")
}
