// Package goldentest compares the output of a test with a golden file.
package goldentest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Equal compares a text with a file below testdata, or rewrites the file with -update. Both texts pass through the read functions first.
func Equal(t *testing.T, file, got string, read ...func(string) string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	text, err := os.ReadFile(path) //nolint:gosec // The test's own file.
	require.NoError(t, err, "add -update to write it")
	want := string(text)
	for _, as := range read {
		want, got = as(want), as(got)
	}
	require.Equal(t, want, got, "if the change is wanted, run go test with -run %s -update, and read the difference", t.Name())
}
