package validate

import (
	"fmt"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
)

// configProblems finds too many manifestConfigs, and manifestConfigs that are for no manifest. If a manifest can't be read, the others are
// not compared.
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

// similar names the targets of the resource of an identifier, or else those with its name, or else all.
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

// maxBytesQuoted is how many bytes have more than maxQuoted characters in any case.
const maxBytesQuoted = 4 * maxQuoted
