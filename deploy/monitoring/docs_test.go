package monitoring

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
)

// eventReasons reads the constants of the events, so that no new one is forgotten.
func eventReasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../pkg/apis/work/v1alpha1/events.go", nil, 0)
	require.NoError(t, err)
	var reasons []string
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok {
			for _, value := range spec.Values {
				reason, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				require.NoError(t, err)
				reasons = append(reasons, reason)
			}
		}
		return true
	})
	require.Greater(t, len(reasons), 10)
	return reasons
}

// runbook is the page to which the alerts lead.
const runbook = "https://github.com/open-cluster-management-io/work-rollback/blob/main/docs/runbook.md"

// entry returns the list item of a page that begins with a name, after the paragraph that introduces the list; empty for none.
func entry(page, name string) string {
	introduction := ""
	for paragraph := range strings.SplitSeq(page, "\n\n") {
		for item := range strings.SplitSeq("\n"+paragraph, "\n- ") {
			if strings.HasPrefix(item, "`"+name+"`") {
				return introduction + "\n" + item
			}
		}
		introduction = paragraph
	}
	return ""
}

// docs/monitoring.md names every metric with its labels and their values, and every event reason, but nothing that does not exist.
func TestDocsNameEverything(t *testing.T) {
	content, err := os.ReadFile("../../docs/monitoring.md")
	require.NoError(t, err)
	docs := string(content)
	known := map[string]bool{}
	explained := func(first string) string {
		known[first] = true
		item := entry(docs, first)
		require.NotEmpty(t, item, "docs/monitoring.md has no list item for %s", first)
		return item
	}
	for name, labels := range exported(t) {
		if !strings.HasPrefix(name, "mwrs_") || strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count") {
			continue
		}
		text := explained(strings.TrimSuffix(name, "_bucket"))
		for label, values := range labels {
			if label == "" || label == "le" {
				continue
			}
			require.Contains(t, text, "`"+label+"`")
			for _, value := range values {
				if label != "mwrs_namespace" && label != "name" && label != "placement" {
					require.Contains(t, text, "`"+value+"`", name)
				}
			}
		}
	}
	for _, reason := range eventReasons(t) {
		explained(reason)
	}
	require.Contains(t, docs, "The first "+strconv.Itoa(metrics.MaxReplicaSets)+" MWRSs")
	for _, first := range regexp.MustCompile("(?m)^- `(mwrs_[a-z_]+|[A-Z][A-Za-z]+)`").FindAllStringSubmatch(docs, -1) {
		require.True(t, known[first[1]], "docs/monitoring.md explains %s, which does not exist", first[1])
	}
}

// Each alert leads to an anchor of docs/runbook.md, and the section there names it. The runbook names no other alert.
func TestRunbookHasEveryAlert(t *testing.T) {
	content, err := os.ReadFile("../../docs/runbook.md")
	require.NoError(t, err)
	known := map[string]bool{}
	for _, group := range rules(t).Groups {
		for _, r := range group.Rules {
			require.Equal(t, runbook+"#"+strings.ToLower(r.Alert), r.Annotations["runbook_url"], r.Alert)
			_, after, found := strings.Cut(string(content), "\n<a id=\""+strings.ToLower(r.Alert)+"\"></a>\n")
			require.True(t, found, "docs/runbook.md has no anchor for the alert %s", r.Alert)
			_, section, _ := strings.Cut(after, "\n## ")
			section, _, _ = strings.Cut(section, "\n## ")
			require.Contains(t, section, "`"+r.Alert+"`", "the section of docs/runbook.md does not name the alert")
			known[r.Alert] = true
		}
	}
	for _, named := range regexp.MustCompile("`(ManifestWorkReplicaSet[A-Z][A-Za-z]+)`").FindAllStringSubmatch(string(content), -1) {
		require.True(t, known[named[1]], "docs/runbook.md names the alert %s, which does not exist", named[1])
	}
}
