package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// upstream.md gives the length of each slice for OCM. No slice has more than 1,500 lines, so that reviewers can read it.
func TestSizesOfSlices(t *testing.T) {
	page, err := os.ReadFile("contributing/upstream.md")
	require.NoError(t, err)
	slices, err := filepath.Glob("../hack/ocm/slices/*.patch")
	require.NoError(t, err)
	require.Len(t, slices, 3)
	for _, slice := range slices {
		patch, err := os.ReadFile(slice)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(slice), ".patch")
		row := regexp.MustCompile(`(?m)^\| \[` + name + `\].*\| ([0-9,]+)`).FindSubmatch(page)
		require.NotNil(t, row, "upstream.md has no row for %s", name)
		size, err := strconv.Atoi(strings.ReplaceAll(string(row[1]), ",", ""))
		require.NoError(t, err)
		require.Equal(t, strings.Count(string(patch), "\n"), size, "upstream.md, %s", name)
		require.Less(t, size, 1500, name)
	}
}
