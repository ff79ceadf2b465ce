package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"
	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	sizeProblem = "which exceeds the 2000 limit"
	nameProblem = "name must be set in manifest"
)

func unnamed(n int, content string) []workv1.Manifest {
	manifests := make([]workv1.Manifest, n)
	for i := range manifests {
		manifests[i] = manifest(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{"n":"%d%s"}}`, i, content))
	}
	return manifests
}

// TestSizeComesFirst: manifests that are too large are rejected for their size alone, and none of them is parsed.
func TestSizeComesFirst(t *testing.T) {
	large := unnamed(3, strings.Repeat("x", size))
	verdict := Work(nil, work(large...), Limits{ManifestBytes: size})
	require.Len(t, verdict.Errors, 1)
	require.ErrorContains(t, verdict.Errors[0], sizeProblem)
}

// TestRatchetUnderTheSize: if an update reduces manifests that were too large, the existing problems of the remaining manifests are not
// new.
func TestRatchetUnderTheSize(t *testing.T) {
	small, large := unnamed(1, ""), unnamed(3, strings.Repeat("x", size))
	verdict := Work(work(append(small, large...)...), work(small...), limit)
	require.Empty(t, verdict.Errors)
	require.Len(t, verdict.Warnings, 1)
	require.Contains(t, verdict.Warnings[0], nameProblem)
}

// TestRatchetTellsIntegersApart: a bad manifest with a different integer is a different manifest, even above 2^53.
func TestRatchetTellsIntegersApart(t *testing.T) {
	bad := func(digit int) *workv1.ManifestWork {
		return work(manifest(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a"},"n":900719925474099%d}`, digit)))
	}
	require.Empty(t, Work(bad(2), bad(2), limit).Errors)
	require.Len(t, Work(bad(2), bad(3), limit).Errors, 1)
}

// TestFewProblemsAreNamed: ten problems are named, and the rest are counted.
func TestFewProblemsAreNamed(t *testing.T) {
	wide := Limits{ManifestBytes: 1 << 20}
	many := work(unnamed(25, "")...)
	verdict := Work(nil, many, wide)
	require.Len(t, verdict.Errors, 11)
	for i, err := range verdict.Errors[:10] {
		require.EqualError(t, err, fmt.Sprintf("spec.workload.manifests[%d]: Invalid value: %s", i, nameProblem))
	}
	require.EqualError(t, verdict.Errors[10], "spec: Invalid value: 15 more problems are not listed here: fix these first")
	require.Len(t, Work(nil, work(unnamed(10, "")...), wide).Errors, 10, "all problems")

	more := many.DeepCopy()
	more.Spec.Workload.Manifests = append(more.Spec.Workload.Manifests, configMap("a"))
	verdict = Work(many, more, wide)
	require.Empty(t, verdict.Errors)
	require.Len(t, verdict.Warnings, 11)
	require.Equal(t, "15 more problems existed before this update", verdict.Warnings[10])

	require.Equal(t, []string{"1", "2"}, fewWarnings([]string{"1", "2"}))
	warnings := strings.Split(strings.Repeat("w ", 24)+"w", " ")
	require.Equal(t, append(warnings[:10:10], "15 more warnings are not listed here"), fewWarnings(warnings))
}

func TestBounded(t *testing.T) {
	long := strings.Repeat("é", 1000)
	path := field.NewPath("spec")
	for _, err := range []*field.Error{
		invalid(path, long), field.Invalid(path, long, long), field.NotSupported(path, longType(long), []longType{"a"}),
	} {
		before := err.Error()
		short := bounded(err)
		require.LessOrEqual(t, len([]rune(short.Error())), maxDetail+maxQuoted+50)
		require.Equal(t, before, err.Error(), "the error belongs to the caller")
	}
	require.Equal(t, strings.Repeat("é", 3)+"…", cut(long, 3))
	require.Equal(t, "é", cut("é", 1), "exactly as long as allowed")
	require.Equal(t, field.Invalid(path, int32(-1), "short"), bounded(field.Invalid(path, int32(-1), "short")))
}

type longType string
