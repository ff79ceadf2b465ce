package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const rulesPage = "docs/contributing/rules.md"

var (
	ruleHeading = regexp.MustCompile(`(?m)^<a id="([rp]\d+[a-z]?)"></a>\n\n### ([RP]\d+[a-z]?): \S.*$`)
	ruleName    = regexp.MustCompile(`\b[RP]\d{1,2}\b`)
	// carriedOut matches a file and its declarations, and shownBy matches a package and its tests.
	carriedOut = regexp.MustCompile("`([a-z0-9/_]+\\.go)`\\s\\(([^)]*)\\)")
	shownBy    = regexp.MustCompile("`([a-z0-9/]+)`:\\s((?:`(?:Test|Benchmark)\\w+`(?:,\\s)?)+)")
	quoted     = regexp.MustCompile("`(\\w+)`")
	testName   = regexp.MustCompile(`(?:Test|Benchmark)[A-Z]\w+`)
)

// ruleSections returns the section of each rule by the rule's name. A rule has a heading with its name, an anchor that stays when the
// heading changes, and a section of its own.
func ruleSections(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, rulesPage))
	require.NoError(t, err)
	page := string(content)
	sections := map[string]string{}
	headings := ruleHeading.FindAllStringSubmatchIndex(page, -1)
	require.NotEmpty(t, headings)
	for i, at := range headings {
		end := len(page)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		section, _, _ := strings.Cut(page[at[0]:end], "\n## ")
		name := page[at[4]:at[5]]
		require.Equal(t, strings.ToLower(name), page[at[2]:at[3]], "the anchor of %s", name)
		require.NotContains(t, sections, name, "%s exists twice", name)
		sections[name] = section
	}
	require.Len(t, sections, strings.Count(page, "\n### "), "every heading names a rule and has an anchor")
	return sections
}

// Every rule leads to existing code and tests.
func TestRulesLeadSomewhere(t *testing.T) {
	for rule, section := range ruleSections(t) {
		files, packages := carriedOut.FindAllStringSubmatch(section, -1), shownBy.FindAllStringSubmatch(section, -1)
		require.NotEmpty(t, files, "%s: name the code", rule)
		require.NotEmpty(t, packages, "%s: name the tests", rule)
		for _, file := range files {
			content, err := os.ReadFile(filepath.Join(root, file[1]))
			require.NoError(t, err, rule)
			for _, name := range quoted.FindAllStringSubmatch(file[2], -1) {
				require.Regexp(t, `(?m)^func (\([^)]*\) )?`+name[1]+`\(`, string(content), "%s: %s", rule, file[1])
			}
		}
		for _, found := range packages {
			content := testsOf(t, found[1])
			for _, name := range quoted.FindAllStringSubmatch(found[2], -1) {
				require.Contains(t, content, "\nfunc "+name[1]+"(", "%s: %s", rule, found[1])
			}
		}
		require.Subset(t, names(append(files, packages...)), testName.FindAllString(section, -1),
			"%s: name the package of each test", rule)
	}
}

// differences are the tests of each difference between OCM's hub and this hub that docs/upgrade.md lists, by package.
var differences = map[string]map[string][]string{
	"Degraded":                   {"pkg/work": {"TestAssess"}, "test/integration": {"TestDayOfTheSwap"}},
	"Available":                  {"pkg/work": {"TestAssess"}, "test/integration": {"TestDayOfTheSwap"}},
	"No rule for Progressing":    {"pkg/work": {"TestAssess"}, "test/integration": {"TestDayOfTheSwap"}},
	"ManifestworkApplied":        {"test/integration": {"TestDayOfTheSwap"}},
	"Counts during an update":    {"test/integration": {"TestDayOfTheSwap"}},
	"The next batch":             {"pkg/rollout": {"TestSettle"}},
	"Deletion":                   {"pkg/rollout": {"TestRemove", "TestRemoveBetweenSlices"}},
	"More than 64 placementRefs": {"test/simulation": {"TestIgnoredPlacementRefs"}, "test/webhook": {"TestCrowdedObjectsStayWritable"}},
}

// Every difference between OCM's hub and this hub is shown by existing tests.
func TestDifferencesAreShown(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/upgrade.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## From OCM's hub to this one\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var named []string
	for _, row := range regexp.MustCompile(`(?m)^\| \*\*(.*?)\*\*`).FindAllStringSubmatch(section, -1) {
		named = append(named, row[1])
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(differences)), named, "each difference of the page needs its tests in this file")
	for difference, packages := range differences {
		for dir, tests := range packages {
			content := testsOf(t, dir)
			for _, test := range tests {
				require.Contains(t, content, "\nfunc "+test+"(", "%s: %s", difference, dir)
			}
		}
	}
}

// names returns the quoted names in the second group of each match.
func names(found [][]string) []string {
	var all []string
	for _, match := range found {
		for _, name := range quoted.FindAllStringSubmatch(match[2], -1) {
			all = append(all, name[1])
		}
	}
	return all
}

func testsOf(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	require.NoError(t, err)
	var all strings.Builder
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		all.Write(content)
	}
	return all.String()
}

// Every rule that a comment names is on the page.
func TestRulesAreExplained(t *testing.T) {
	explained := ruleSections(t)
	named := map[string]bool{}
	for _, dir := range []string{"cmd", "internal", "pkg", "test"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			content, err := os.ReadFile(path)
			for line := range strings.Lines(string(content)) {
				_, comment, _ := strings.Cut(line, "//")
				for _, rule := range ruleName.FindAllString(comment, -1) {
					named[rule] = true
					require.Contains(t, explained, rule, "%s names %s: explain it in %s", path, rule, rulesPage)
				}
			}
			return err
		})
		require.NoError(t, err)
	}
	require.Greater(t, len(named), 20)
}

// A function names at most one rule. Its comment describes the relation to other rules in words.
func TestFunctionsNameOneRule(t *testing.T) {
	functions := 0
	for _, dir := range []string{"cmd", "internal", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
			require.NoError(t, err)
			for _, declaration := range file.Decls {
				function, is := declaration.(*ast.FuncDecl)
				if !is {
					continue
				}
				functions++
				rules := map[string]bool{}
				for _, comment := range file.Comments {
					if comment == function.Doc || comment.Pos() > function.Pos() && comment.End() < function.End() {
						for _, rule := range ruleName.FindAllString(comment.Text(), -1) {
							rules[rule] = true
						}
					}
				}
				require.LessOrEqual(t, len(rules), 1, "%s: %s names the rules %v: keep the one that it serves",
					fset.Position(function.Pos()), function.Name.Name, slices.Sorted(maps.Keys(rules)))
			}
			return nil
		})
		require.NoError(t, err)
	}
	require.Greater(t, functions, 1000)
}
