package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const rulesPage = "docs/concepts/rules.md"

var (
	ruleRow  = regexp.MustCompile(`(?m)^\| \*\*([RP]\d+)\*\* \|.*$`)
	ruleName = regexp.MustCompile(`\b[RP]\d{1,2}\b`)
	// carriedOut is a file and what it declares; shownBy is a package and its tests.
	carriedOut = regexp.MustCompile("`([a-z0-9/_]+\\.go)` \\(([^)]*)\\)")
	shownBy    = regexp.MustCompile("`([a-z0-9/]+)`: ((?:`(?:Test|Benchmark)\\w+`(?:, )?)+)")
	quoted     = regexp.MustCompile("`(\\w+)`")
	testName   = regexp.MustCompile(`(?:Test|Benchmark)[A-Z]\w+`)
)

// Every rule leads to code and tests that are there.
func TestRulesLeadSomewhere(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, rulesPage))
	require.NoError(t, err)
	rows := ruleRow.FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		files, packages := carriedOut.FindAllStringSubmatch(row[0], -1), shownBy.FindAllStringSubmatch(row[0], -1)
		require.NotEmpty(t, files, "%s: where is it carried out?", row[1])
		require.NotEmpty(t, packages, "%s: what shows it?", row[1])
		for _, file := range files {
			content, err := os.ReadFile(filepath.Join(root, file[1]))
			require.NoError(t, err, row[1])
			for _, name := range quoted.FindAllStringSubmatch(file[2], -1) {
				require.Regexp(t, `(?m)^func (\([^)]*\) )?`+name[1]+`\(`, string(content), "%s: %s", row[1], file[1])
			}
		}
		for _, found := range packages {
			content := testsOf(t, found[1])
			for _, name := range quoted.FindAllStringSubmatch(found[2], -1) {
				require.Contains(t, content, "\nfunc "+name[1]+"(", "%s: %s", row[1], found[1])
			}
		}
		require.Subset(t, names(append(files, packages...)), testName.FindAllString(row[0], -1),
			"%s: name the package of each test", row[1])
	}
}

// Every difference between OCM's hub and this one names tests that are there.
func TestDifferencesAreShown(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/upgrade.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## From OCM's hub to this one\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| \*\*(.*?)\*\*.*$`).FindAllStringSubmatch(section, -1)
	require.GreaterOrEqual(t, len(rows), 8)
	for _, row := range rows {
		packages := shownBy.FindAllStringSubmatch(row[0], -1)
		require.NotEmpty(t, packages, "%s: what shows it?", row[1])
		for _, found := range packages {
			content := testsOf(t, found[1])
			for _, name := range quoted.FindAllStringSubmatch(found[2], -1) {
				require.Contains(t, content, "\nfunc "+name[1]+"(", "%s: %s", row[1], found[1])
			}
		}
		require.Subset(t, names(packages), testName.FindAllString(row[0], -1), "%s: name the package of each test", row[1])
	}
}

// names are those in the second part of what was found.
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

// Every rule that a comment names is on the page, once.
func TestRulesAreExplained(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, rulesPage))
	require.NoError(t, err)
	explained := map[string]bool{}
	for _, row := range ruleRow.FindAllStringSubmatch(string(page), -1) {
		require.False(t, explained[row[1]], "%s is there twice", row[1])
		explained[row[1]] = true
	}
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
					require.True(t, explained[rule], "%s names %s: explain it in %s", path, rule, rulesPage)
				}
			}
			return err
		})
		require.NoError(t, err)
	}
	require.Greater(t, len(named), 20)
}
