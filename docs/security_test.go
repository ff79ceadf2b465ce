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

// Every test that SECURITY.md names is there, and each row of its trust model names one that tries to exceed it.
func TestSecurityIsShown(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	require.NoError(t, err)
	declared := declaredTests(t)
	named := testName.FindAllString(string(page), -1)
	require.NotEmpty(t, named)
	for _, name := range named {
		require.True(t, declared[name], "SECURITY.md names %s: there is no such test", name)
	}
	for _, section := range []string{"## The trust model", "### Works over a broker"} {
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
