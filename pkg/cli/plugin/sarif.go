package plugin

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/pkg/version"
)

// element matches an index or a key in the path of a field.
var element = regexp.MustCompile(`\[[^]]*\]`)

// ruleOf returns the identifier of the rule that a finding violates. The identifier is the same for each element of a list, and for all
// unknown fields.
func ruleOf(f *finding) string {
	if f.Field == "" || f.Type == typeUnknown {
		return f.Type
	}
	return f.Type + "/" + element.ReplaceAllString(f.Field, "")
}

// sarifOf returns the findings as a SARIF 2.1.0 log. Code scanners show them at their lines.
func sarifOf(findings []finding) any {
	type object = map[string]any
	rules, results := []object{}, []object{}
	index := map[string]int{}
	for i := range findings {
		f := &findings[i]
		rule := ruleOf(f)
		if _, known := index[rule]; !known {
			index[rule], rules = len(rules), append(rules, object{"id": rule})
		}
		place := object{"artifactLocation": object{"uri": f.uri}}
		if f.Line > 0 {
			place["region"] = object{"startLine": f.Line}
		}
		results = append(results, object{
			"ruleId": rule, "ruleIndex": index[rule], "level": f.Severity, "message": object{"text": joined(f.Object, f.Field, f.Message)},
			"locations": []object{{"physicalLocation": place}},
		})
	}
	driver := object{"name": "kubectl-mwrs", "version": version.Get().GitVersion, "rules": rules}
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": driver}, "results": results}},
	}
}

// uriOf returns the URI of a file. The URI of a relative path is relative, because code scanners resolve it in the checkout.
func uriOf(file string) string {
	if file == "-" {
		return "stdin"
	}
	file = filepath.ToSlash(filepath.Clean(file))
	uri := url.URL{Path: file}
	if strings.HasPrefix(file, "/") {
		uri.Scheme = "file"
	}
	return uri.String()
}
