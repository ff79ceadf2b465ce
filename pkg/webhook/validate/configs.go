package validate

import (
	"fmt"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
)

// configProblems returns the problems of too many manifestConfigs, and of manifestConfigs that do not match any
// manifest. If a manifest can't be read, nothing is compared.
func configProblems(template *workv1.ManifestWorkSpec) []problem {
	path := templatePath.Child("manifestConfigs")
	if text := revision.ConfigProblem(template); text != "" {
		return []problem{named("too many manifestConfigs", invalid(path, text))}
	}
	targets, readable := revision.Targets(template.Workload.Manifests)
	if !readable || len(targets) == 0 {
		return nil
	}
	var problems []problem
	for _, place := range revision.Unmatched(template.ManifestConfigs, targets) {
		id := template.ManifestConfigs[place].ResourceIdentifier
		err := rule.UnmatchedConfig.Error(path.Index(place).Child("resourceIdentifier"), shorten(shownAs(&id)), similar(&id, targets))
		problems = append(problems, problem{Error: err, key: func() string { return fmt.Sprintf("manifestConfig %q", id) }})
	}
	return problems
}

// shownAs returns the text for an identifier. It does not copy long names.
func shownAs(id *workv1.ResourceIdentifier) string {
	text := shorten(id.Resource)
	if id.Group != "" {
		text += "." + shorten(id.Group)
	}
	text += " "
	if id.Namespace != "" {
		text += shorten(id.Namespace) + "/"
	}
	return text + shorten(id.Name)
}

// similar returns the targets with the resource of an identifier. If there are none, it returns the targets with the
// identifier's name, or else all targets.
func similar(id *workv1.ResourceIdentifier, targets []workv1.ResourceIdentifier) string {
	alike := func(t *workv1.ResourceIdentifier) bool { return t.Group == id.Group && t.Resource == id.Resource }
	if !slices.ContainsFunc(targets, func(t workv1.ResourceIdentifier) bool { return alike(&t) }) {
		alike = func(t *workv1.ResourceIdentifier) bool { return t.Name == id.Name }
		if !slices.ContainsFunc(targets, func(t workv1.ResourceIdentifier) bool { return alike(&t) }) {
			alike = func(*workv1.ResourceIdentifier) bool { return true }
		}
	}
	var texts []string
	size := 0
	for i := range targets {
		if size > maxBytesQuoted {
			break
		}
		if alike(&targets[i]) {
			texts = append(texts, shownAs(&targets[i]))
			size += len(texts[len(texts)-1])
		}
	}
	return shorten(strings.Join(texts, ", "))
}

// maxBytesQuoted is a number of bytes that always holds at least maxQuoted characters.
const maxBytesQuoted = 4 * maxQuoted
