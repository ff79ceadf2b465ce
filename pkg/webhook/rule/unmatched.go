package rule

import (
	"fmt"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// MaxPairs is the maximum number of manifests times manifestConfigs that CEL compares.
const MaxPairs = 1000

// UnmatchedConfig is about a manifestConfig that does not match any manifest: agents ignore it, and never report the
// conditions that its rules define. The text names the identifier of the manifestConfig, and identifiers that would
// match. The policy admits it in templates with more than MaxPairs manifests times manifestConfigs, because CEL
// compares every pair. It also admits names that contain both a * and characters that are not allowed in Kubernetes
// names.
var UnmatchedConfig = Rule{
	Text: "%s matches no manifest, so its rules and settings have no effect: use one of %s, or remove the entry",
	Checks: []Check{{
		Variables: []Variable{
			{"targets", targetsOf("variables.manifests")},
			{"configIds", idsOf("variables.configs")},
			{"unmatchedBefore", fmt.Sprintf("[%s].map(ts, [%s].map(ids, %s)[0])[0]", targetsOf("variables.oldManifests"), idsOf("variables.oldConfigs"), unmatched)},
			{"unmatchedNow", fmt.Sprintf("size(variables.oldConfigs) * size(variables.oldManifests) > %d ? [] : "+
				"[variables.targets].map(ts, [variables.configIds].map(ids, %s)[0])[0].filter(i, !(i in variables.unmatchedBefore))", MaxPairs, unmatched)},
		},
		Holds: "size(variables.unmatchedNow) == 0",
		Field: item(configsPath, "variables.configIds.indexOf(variables.unmatchedNow[0])") + " + '.resourceIdentifier'",
		Args: []string{
			cut(shownAs("variables.unmatchedNow[0]")),
			cut("[variables.unmatchedNow[0]].map(i, [" +
				"variables.targets.filter(t, t.group == i.group && t.resource == i.resource), variables.targets.filter(t, t.name == i.name), variables.targets" +
				"].filter(l, size(l) > 0)[0])[0].map(t, " + shownAs("t") + ").join(', ')"),
		},
	}},
}

const configsPath = "spec.manifestWorkTemplate.manifestConfigs"

// targetsOf returns the identifiers by which manifestConfigs refer to manifests, like revision.Targets.
func targetsOf(manifests string) string {
	return manifests + ".map(m, [m.?kind.orValue('').lowerAscii()].map(k, [m.?apiVersion.orValue('')].map(v, {" +
		"'group': dyn(v.contains('/') ? v.substring(0, v.indexOf('/')) : ''), " +
		"'resource': dyn(k == '' || k.endsWith('endpoints') ? k : k.endsWith('s') ? k + 'es' : " +
		"k.endsWith('y') ? k.substring(0, size(k) - 1) + 'ies' : k + 's'), " +
		"'namespace': dyn(m.?metadata.?namespace.orValue('')), 'name': dyn(m.?metadata.?name.orValue(''))})[0])[0])"
}

// idsOf returns the identifiers of manifestConfigs.
func idsOf(configs string) string {
	return configs + ".map(c, [c.?resourceIdentifier.orValue({})].map(i, {'group': dyn(i.?group.orValue('')), 'resource': dyn(i.?resource.orValue('')), " +
		"'namespace': dyn(i.?namespace.orValue('')), 'name': dyn(i.?name.orValue(''))})[0])"
}

// unmatched is the list of identifiers among ids that match none of the targets ts, like revision.Unmatched.
var unmatched = fmt.Sprintf("(size(ts) == 0 || size(ts) * size(ids) > %d ? [] : ids.filter(i, !ts.exists(t, t.group == i.group && "+
	"(t.resource == i.resource || i.group.contains('.') && !(i.group in ['%s'])) && %s && %s)))",
	MaxPairs, strings.Join(revision.BuiltInGroups, "', '"), like("i.namespace", "t.namespace"), like("i.name", "t.name"))

// like returns a condition that a name matches a pattern in which a star stands for any text. A pattern with a
// character that has a special meaning in a regular expression matches everything.
func like(pattern, name string) string {
	return fmt.Sprintf("(%[1]s == %[2]s || %[1]s.contains('*') && (size(%[1]s) > 253 || !%[1]s.matches('^[-A-Za-z0-9.:*]*$') || "+
		"%[2]s.matches('(?s)^' + %[1]s.replace('.', '[.]').replace('*', '.*') + '$')))", pattern, name)
}

// shownAs returns the text for an identifier.
func shownAs(id string) string {
	return fmt.Sprintf("%[1]s.resource + (%[1]s.group == '' ? '' : '.' + %[1]s.group) + ' ' + (%[1]s.namespace == '' ? '' : %[1]s.namespace + '/') + %[1]s.name", id)
}
