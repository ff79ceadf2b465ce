package plugin

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/pkg/version"
)

// The subset of SARIF 2.1.0 that lint writes.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// index matches an index or a key in the path of a field.
var index = regexp.MustCompile(`\[[^]]*\]`)

// ruleOf returns the identifier of the rule that a finding violates. It is the same for each element of a list, and for all unknown fields.
func ruleOf(f *finding) string {
	if f.Field == "" || f.Type == typeUnknown {
		return f.Type
	}
	return f.Type + "/" + index.ReplaceAllString(f.Field, "")
}

// sarifOf returns the findings as a SARIF log. Code scanners show them at their lines.
func sarifOf(findings []finding) *sarifLog {
	run := sarifRun{
		Tool:    sarifTool{Driver: sarifDriver{Name: "kubectl-mwrs", Version: version.Get().GitVersion, Rules: []sarifRule{}}},
		Results: []sarifResult{},
	}
	rules := &run.Tool.Driver.Rules
	for i := range findings {
		f := &findings[i]
		rule := sarifRule{ID: ruleOf(f)}
		at := slices.Index(*rules, rule)
		if at < 0 {
			at, *rules = len(*rules), append(*rules, rule)
		}
		place := sarifPhysical{Artifact: sarifArtifact{URI: f.uri}}
		if f.Line > 0 {
			place.Region = &sarifRegion{StartLine: f.Line}
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: rule.ID, RuleIndex: at, Level: f.Severity, Message: sarifMessage{Text: joined(f.Object, f.Field, f.Message)},
			Locations: []sarifLocation{{Physical: place}},
		})
	}
	return &sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// uriOf returns the URI of a file. It is relative if the path is, because code scanners resolve it in the checkout.
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
