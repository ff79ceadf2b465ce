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

// Every test that SECURITY.md names exists, and each row of its trust model names a test that tries to exceed it.
func TestSecurityIsShown(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	require.NoError(t, err)
	declared := declaredTests(t)
	named := testName.FindAllString(string(page), -1)
	require.NotEmpty(t, named)
	for _, name := range named {
		require.True(t, declared[name], "SECURITY.md names %s: there is no such test", name)
	}
	for _, section := range []string{"## The trust model", "### Budgets", "### Works over a broker"} {
		_, after, found := strings.Cut(string(page), "\n"+section+"\n")
		require.True(t, found, section)
		_, after, found = strings.Cut(after, "\n| --- |")
		require.True(t, found, section)
		table, _, _ := strings.Cut(after, "\n\n")
		rows := strings.Split(table, "\n")[1:]
		require.NotEmpty(t, rows, section)
		for _, row := range rows {
			require.Regexp(t, testName, row, "%s: name the test that tries to exceed this row", section)
		}
	}
}

// Every test that a page names exists, and each row of capabilities.md names a test.
func TestPagesNameTestsThatExist(t *testing.T) {
	pages, err := Pages(root)
	require.NoError(t, err)
	declared := declaredTests(t)
	for path, page := range pages {
		for _, name := range testName.FindAllString(page, -1) {
			// A command may run all tests whose names start with this text.
			require.True(t, declared[name] || strings.Contains(page, " -run "+name+"`") && beginsOne(declared, name),
				"%s names %s: there is no such test", path, name)
		}
		for _, found := range shownBy.FindAllStringSubmatch(page, -1) {
			content := testsOf(t, found[1])
			for _, name := range quoted.FindAllStringSubmatch(found[2], -1) {
				require.Contains(t, content, "\nfunc "+name[1]+"(", "%s: %s", path, found[1])
			}
		}
	}
	_, table, found := strings.Cut(pages["docs/contributing/capabilities.md"], "\n| --- |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[1:]
	require.NotEmpty(t, rows)
	for _, row := range rows {
		require.Regexp(t, shownBy, row, "name the package and the test that shows it")
	}
}

func beginsOne(declared map[string]bool, prefix string) bool {
	for name := range declared {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// declaredTests are the names of all tests and benchmarks of the repository.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
	declared := map[string]bool{}
	for _, dir := range []string{"cmd", "deploy", "docs", "hack", "internal", "pkg", "test"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			for _, match := range declaration.FindAllSubmatch(content, -1) {
				declared[string(match[1])] = true
			}
			return err
		})
		require.NoError(t, err)
	}
	return declared
}
