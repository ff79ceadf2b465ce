package handover

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
)

// named returns n strings in the given format.
func named(n int, format string) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	return names
}

// dropping returns two revisions: one with n objects of a group, and one that drops them and has n manifestConfigs.
func dropping(n int, config func(i int) workv1.ManifestConfigOption) (to, from *workv1.ManifestWorkSpec) {
	to, from = spec("2", "/ConfigMap a/x"), spec("1", named(n, "e.io/Thing a/x%d")...)
	for i := range n {
		with(to, config(i))
	}
	return to, from
}

// TestCombineHasABudget: for revisions of any shape, combining two of them costs little more than reading them, and the result can be
// written.
func TestCombineHasABudget(t *testing.T) {
	starred := func(i int) workv1.ManifestConfigOption { return config(fmt.Sprintf("e.io/r%d a/*", i), create) }
	other := func(i int) workv1.ManifestConfigOption {
		return config(fmt.Sprintf("e.io/r%d a/*b*b*b*b*b*b*z", i), create)
	}
	exact := func(i int) workv1.ManifestConfigOption { return config(fmt.Sprintf("e.io/things a/x%d", i), create) }
	large := config("e.io/things a/*", apply)
	large.UpdateStrategy.ServerSideApply = &workv1.ServerSideApplyConfig{IgnoreFields: []workv1.IgnoreField{{JSONPaths: named(2000, ".spec.field%d")}}}
	for name, config := range map[string]func(i int) workv1.ManifestConfigOption{"any name": starred, "no name": other, "one each": exact} {
		for _, n := range []int{8, 100, 400, 2400} {
			t.Run(fmt.Sprintf("%s, %d of each", name, n), func(t *testing.T) {
				to, from := dropping(n, config)
				combinedWithin(t, to, from)
			})
		}
	}
	t.Run("a strategy for all", func(t *testing.T) {
		to, from := dropping(1000, exact)
		combinedWithin(t, to, with(from, large))
	})
	t.Run("orphaned one by one", func(t *testing.T) {
		to, from := dropping(2400, exact)
		combinedWithin(t, deleting(to, selectively, named(2400, "e.io/r%d a/*")...), from)
	})
	t.Run("objects alone", func(t *testing.T) {
		to, from := dropping(20_000, func(int) workv1.ManifestConfigOption { return config("e.io/things a/x", create) })
		to.ManifestConfigs = nil
		combinedWithin(t, to, from)
	})
}

func combinedWithin(t *testing.T, to, from *workv1.ManifestWorkSpec) {
	t.Helper()
	var got Result
	budget.Within(t, 30*time.Second, 500<<20, func() {
		var err error
		got, err = Combine(to, from, DefaultLimits())
		require.NoError(t, err)
	})
	if got.Combined == nil {
		require.NotEmpty(t, got.NotKept)
		require.Less(t, len(strings.Join(got.NotKept, "")), 1<<20)
		return
	}
	data, err := json.Marshal(got.Combined.Template)
	require.NoError(t, err)
	require.LessOrEqual(t, len(data), maxWork+1<<10)
}

// TestExceeded: above a bound, nothing is kept, and the message names the field and the bound. At the bound, everything is kept.
func TestExceeded(t *testing.T) {
	stars := func(i int) workv1.ManifestConfigOption { return config(fmt.Sprintf("e.io/r%d a/*", i), create) }
	unlike := func(i int) workv1.ManifestConfigOption { return config(fmt.Sprintf("e.io/r%d a/z*", i), create) }
	none := func(int) workv1.ManifestConfigOption { return config("/configmaps a/x", create) }
	large := func(bytes int) *workv1.ManifestWorkSpec {
		s := spec("1", "/ConfigMap a/large")
		s.Workload.Manifests[0].Raw = []byte(strings.Replace(string(s.Workload.Manifests[0].Raw), `"1"`, `"`+strings.Repeat("x", bytes)+`"`, 1))
		return s
	}
	verbose := config("/configmaps a/*", apply)
	verbose.UpdateStrategy.ServerSideApply = &workv1.ServerSideApplyConfig{IgnoreFields: []workv1.IgnoreField{{JSONPaths: []string{strings.Repeat("x", 600<<10)}}}}
	at := func(n int, config func(int) workv1.ManifestConfigOption) [2]*workv1.ManifestWorkSpec {
		to, from := dropping(n, config)
		return [2]*workv1.ManifestWorkSpec{to, from}
	}
	for name, test := range map[string]struct {
		revisions [2]*workv1.ManifestWorkSpec
		exceeded  string
	}{
		"resources":             {at(maxResources-1, stars), ""},
		"too many resources":    {at(maxResources, stars), "spec.manifestWorkTemplate.manifestConfigs of the two revisions name more than 8 resources that may be the one of Thing a/x0"},
		"comparisons":           {at(500, unlike), ""},
		"too many comparisons":  {at(501, unlike), "spec.manifestWorkTemplate.manifestConfigs of the two revisions have too many names with a *"},
		"bytes":                 {[2]*workv1.ManifestWorkSpec{spec("2", "/ConfigMap a/x"), large(500<<10 - 300)}, ""},
		"too many bytes":        {[2]*workv1.ManifestWorkSpec{spec("2", "/ConfigMap a/x"), large(500 << 10)}, "spec.manifestWorkTemplate.workload.manifests of the new revision and the dropped objects have more than 512000 bytes"},
		"a strategy":            {[2]*workv1.ManifestWorkSpec{spec("2", "/ConfigMap a/x"), with(spec("1", "/ConfigMap a/y"), verbose)}, ""},
		"too many of it":        {[2]*workv1.ManifestWorkSpec{spec("2", "/ConfigMap a/x"), with(spec("1", "/ConfigMap a/y", "/ConfigMap a/z"), verbose)}, "spec.manifestWorkTemplate.manifestConfigs of the new revision and those of the dropped objects would make a ManifestWork larger than 1048576 bytes"},
		"a spec without drops":  {[2]*workv1.ManifestWorkSpec{large(600 << 10), large(600 << 10)}, ""},
		"configs beside no new": {at(500, none), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Combine(test.revisions[0], test.revisions[1], DefaultLimits())
			require.NoError(t, err)
			require.Equal(t, got.Exceeded, Exceeded(test.revisions[0], test.revisions[1], DefaultLimits()))
			if test.exceeded == "" {
				require.Empty(t, got.Exceeded)
				return
			}
			require.Contains(t, got.Exceeded, test.exceeded)
			require.Equal(t, []string{got.Exceeded}, got.NotKept)
			require.Nil(t, got.Combined)
		})
	}
	more := Limits{ManifestBytes: 1 << 20}
	require.Empty(t, Exceeded(spec("2", "/ConfigMap a/x"), large(500<<10), more), "an administrator may allow more")
}
