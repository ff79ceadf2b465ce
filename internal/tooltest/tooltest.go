// Package tooltest finds the programs that tests run, at the versions that the modules in hack/tools pin.
package tooltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Path returns the absolute path of a program of a module in hack/tools. root is the path from the test to the root of the repository. CI
// builds the module. Elsewhere, the test is skipped if the module is not built.
func Path(t *testing.T, root, module, program string) string {
	t.Helper()
	args := []string{module}
	if os.Getenv("CI") != "true" {
		args = append(args, "--built")
	}
	directory, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack/tools/build.sh"), args...).Output()
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("%s is not built: run hack/tools/build.sh %s", program, module)
	}
	require.NoError(t, err)
	path, err := filepath.Abs(filepath.Join(strings.TrimSpace(string(directory)), program))
	require.NoError(t, err)
	return path
}
