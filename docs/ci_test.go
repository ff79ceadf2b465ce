package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// recordingGo stands in for the Go command: it records the arguments of `go test`, and lists packages as the real command does.
const recordingGo = `#!/bin/sh
case "$1" in
test) shift; echo "CGO_ENABLED=$CGO_ENABLED PLANES=$TEST_CONTROL_PLANES $*" >> '%s' ;;
list) exec '%s' "$@" ;;
esac
`

const module = "github.com/open-cluster-management-io/work-rollback/"

// testRun is one call of `go test`.
type testRun struct {
	race, vets bool
	planes     string
	packages   []string
	flags      []string
}

// testRuns returns the calls of `go test` by targets of the Makefile.
func testRuns(t *testing.T, arguments ...string) (runs []testRun) {
	t.Helper()
	command, err := exec.LookPath("go")
	require.NoError(t, err)
	bin, record := t.TempDir(), filepath.Join(t.TempDir(), "record")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), fmt.Appendf(nil, recordingGo, record, command), 0o755)) //nolint:gosec // It is executed.
	// The tools exist, or are not needed.
	run := exec.CommandContext(t.Context(), "make", append([]string{"-C", root, "-o", "tools", "-o", "release-tools"}, arguments...)...)
	run.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { // This test itself runs in a `make test`.
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "ONCE", "CGO_ENABLED", "TEST_CONTROL_PLANES"}, name)
	})
	run.Env = append(run.Env, "PATH="+bin+":"+os.Getenv("PATH"))
	output, err := run.CombinedOutput()
	require.NoError(t, err, string(output))
	recorded, err := os.ReadFile(record)
	require.NoError(t, err)
	for line := range strings.Lines(string(recorded)) {
		run := testRun{vets: true}
		var patterns []string
		for i, field := range strings.Fields(line) {
			switch {
			case i == 1:
				run.planes = strings.TrimPrefix(field, "PLANES=")
			case field == "-race":
				run.race = true
			case field == "-vet=off":
				run.vets = false
			case strings.HasPrefix(field, "./"), strings.HasPrefix(field, module):
				patterns = append(patterns, field)
			case i > 1:
				run.flags = append(run.flags, field)
			}
		}
		run.packages = slices.Compact(slices.Sorted(slices.Values(packagesWithTests(t, patterns...))))
		runs = append(runs, run)
	}
	return runs
}

// tested are the packages of this module that have tests, without the module's name.
var tested = sync.OnceValues(func() (packages []string, err error) {
	list := exec.Command("go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...")
	list.Dir = root
	output, err := list.Output()
	for line := range strings.Lines(string(output)) {
		packages = append(packages, strings.TrimPrefix(strings.TrimSpace(line), module))
	}
	return packages, err
})

// packagesWithTests returns the packages with tests that match patterns of the Go command: a package, or ./x/... for all packages below a
// directory.
func packagesWithTests(t *testing.T, patterns ...string) (found []string) {
	t.Helper()
	all, err := tested()
	require.NoError(t, err)
	for _, pattern := range patterns {
		name, below := strings.CutSuffix(strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), module), "/...")
		for _, each := range all {
			if each == name || below && strings.HasPrefix(each, name+"/") {
				found = append(found, each)
			}
		}
	}
	return found
}

// everyPackage returns all packages that have tests.
func everyPackage(t *testing.T) []string {
	t.Helper()
	all, err := tested()
	require.NoError(t, err)
	require.Greater(t, len(all), 50)
	return all
}

func isRare(name string) bool {
	return regexp.MustCompile(`^test/(release|benchmark)(/|$)`).MatchString(name)
}

// `make test` and `make test-all` together run all tests, and only the second one requires a C compiler.
func TestEveryTestHasATarget(t *testing.T) {
	played := map[string]bool{}
	for _, run := range testRuns(t, "test") {
		require.False(t, run.race)
		require.True(t, run.vets)
		for _, name := range run.packages {
			played[name] = true
			require.False(t, isRare(name), "%s takes minutes", name)
		}
	}
	var planes []string
	for _, run := range testRuns(t, "test-all") {
		for _, name := range run.packages {
			played[name] = true
			if name == "test/integration" {
				planes = append(planes, run.planes)
			}
		}
	}
	require.Equal(t, everyPackage(t), slices.Sorted(maps.Keys(played)))
	require.Equal(t, []string{"own", ""}, planes, "`make test` has those on shared control planes, and the race detector sees all")
}

// .ci/run tests each package once, with `make test` among other targets, and omits the tests that nightly.yaml runs.
func TestCIRunsEachTestOnce(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(root, ".ci/run"))
	require.NoError(t, err)
	steps := regexp.MustCompile(`(?m)^for step in (.*); do$`).FindStringSubmatch(string(script))
	require.NotNil(t, steps)
	require.Contains(t, string(script), `make "$step" ONCE=true`)
	targets := strings.Fields(steps[1])
	require.Equal(t, "verify", targets[0], "the tests that follow are not vetted again")
	require.Contains(t, targets, "test")

	times := map[string]int{}
	for _, run := range testRuns(t, append([]string{"ONCE=true"}, targets[1:]...)...) {
		require.False(t, run.vets)
		require.NotContains(t, run.flags, "-run", "only some of the tests of %v", run.packages)
		for _, name := range run.packages {
			if name == "test/integration" {
				name += ": " + run.planes
			}
			times[name]++
		}
	}
	// Tests with their own control planes would slow down the other tests, whose deadlines are seconds.
	wanted := map[string]int{"test/integration: shared": 1, "test/integration: own": 1}
	for _, name := range everyPackage(t) {
		if !isRare(name) && name != "test/integration" {
			wanted[name] = 1
		}
	}
	require.Equal(t, wanted, times)
}

// The race detector runs on each package of the product that starts goroutines or has locks.
func TestTheRaceDetectorSeesWhatRunsInParallel(t *testing.T) {
	raced := []string{}
	for _, run := range testRuns(t, "race") {
		require.True(t, run.race)
		raced = append(raced, run.packages...)
	}
	for _, directory := range directories(t, "pkg") {
		name, err := filepath.Rel(root, directory)
		require.NoError(t, err)
		if parallel := runsInParallel(t, directory); parallel != "" && len(packagesWithTests(t, name)) > 0 {
			require.Contains(t, raced, name, "it has %s: name it in the Makefile's `parallel`", parallel)
		}
	}
}

func directories(t *testing.T, below string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(filepath.Join(root, below), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// runsInParallel returns the evidence that a package starts goroutines or has locks; empty for none.
func runsInParallel(t *testing.T, directory string) (found string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.go"))
	require.NoError(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.GoStmt:
				found = "a go statement"
			case *ast.SelectorExpr:
				if from, is := node.X.(*ast.Ident); is && (from.Name == "atomic" || from.Name == "sync" && !strings.HasPrefix(node.Sel.Name, "Once")) {
					found = from.Name + "." + node.Sel.Name
				}
			}
			return true
		})
	}
	return found
}
