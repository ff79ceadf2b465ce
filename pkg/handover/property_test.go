package handover

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"
	"pgregory.net/rapid"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

func anySpec(version string) *rapid.Generator[*workv1.ManifestWorkSpec] {
	objects := []string{"/ConfigMap a/x", "/ConfigMap a/y", "/ConfigMap b/x", "apps/Deployment a/x", "apps/StatefulSet a/x", "gateway.example.com/Gateway a/x", "/Namespace x"}
	targets := []string{"/configmaps a/x", "/configmaps */*", "apps/deployments a/*", "apps/statefulsets a/x", "gateway.example.com/gateways a/x", "/namespaces x"}
	return rapid.Custom(func(t *rapid.T) *workv1.ManifestWorkSpec {
		s := spec(version, rapid.SliceOfNDistinct(rapid.SampledFrom(objects), 1, 5, rapid.ID).Draw(t, "objects")...)
		for range rapid.IntRange(0, 3).Draw(t, "configs") {
			strategy := rapid.SampledFrom([]workv1.UpdateStrategyType{"", update, create, apply, read}).Draw(t, "strategy")
			with(s, config(rapid.SampledFrom(targets).Draw(t, "target"), strategy))
		}
		if policy := rapid.SampledFrom([]workv1.DeletePropagationPolicyType{"", "", "Foreground", selectively, orphan}).Draw(t, "policy"); policy != "" {
			deleting(s, policy, rapid.SampledFrom(targets).Draw(t, "orphaned"))
		}
		return s
	})
}

// Trimming a combined work returns the new revision, only objects of the old revision are kept, and two hubs combine in the same way.
func TestTrimOfCombine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		to, from := anySpec("2").Draw(t, "to"), anySpec("1").Draw(t, "from")
		got, err := Combine(to, from, DefaultLimits())
		require.NoError(t, err)
		again, err := Combine(to.DeepCopy(), from.DeepCopy(), DefaultLimits())
		require.NoError(t, err)
		require.Equal(t, again, got)
		if got.Combined == nil {
			return
		}
		require.Equal(t, to, got.Combined.Trim())
		exact, err := revision.DigestOf(to)
		require.NoError(t, err)
		require.NotEqual(t, exact, got.Combined.Digest)
		objects, err := objectsOf(got.Combined.Template)
		require.NoError(t, err)
		names := map[identity]bool{}
		for _, o := range objects {
			require.False(t, names[o.id], "%s is there twice", o.name)
			names[o.id] = true
		}
		require.Len(t, objects, got.Combined.Manifests+len(got.Combined.Kept))
		// The cluster passes to the combined spec first, and then to the exact spec. The first step drops no kept object.
		twice, err := Combine(got.Combined.Template, from, DefaultLimits())
		require.NoError(t, err)
		require.Nil(t, twice.Combined)
	})
}

// FuzzCombine: any two revisions can be combined and trimmed, or the error gives the reason.
func FuzzCombine(f *testing.F) {
	for _, to := range []*workv1.ManifestWorkSpec{
		spec("2", "/ConfigMap a/x"), deleting(spec("2", "/ConfigMap a/x"), selectively, "/configmaps a/y"),
		with(spec("2", "apps/StatefulSet a/x"), config("apps/statefulsets a/*", apply)),
	} {
		for _, from := range []*workv1.ManifestWorkSpec{spec("1", "/ConfigMap a/y"), with(spec("1", "apps/Deployment a/x"), config("apps/deployments a/x", create))} {
			a, err := json.Marshal(to)
			require.NoError(f, err)
			b, err := json.Marshal(from)
			require.NoError(f, err)
			f.Add(a, b)
		}
	}
	f.Add([]byte(`{"workload":{"manifests":[{}]},"manifestConfigs":[]}`), []byte(`{"workload":{"manifests":[{"metadata":{"name":"*"}},7]}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var to, from workv1.ManifestWorkSpec
		if json.Unmarshal(a, &to) != nil || json.Unmarshal(b, &from) != nil {
			return
		}
		exact, problem := revision.DigestOf(&to)
		var got Result
		var err error
		budget.Within(t, 20*time.Second, 16<<20+1000*uint64(len(a)+len(b)), func() { got, err = Combine(&to, &from, DefaultLimits()) })
		if err != nil || got.Combined == nil || problem != nil {
			return
		}
		if trimmed, err := revision.DigestOf(got.Combined.Trim()); err != nil || trimmed != exact {
			t.Fatalf("trimmed it means something else: %v", err)
		}
	})
}

// FuzzCombineMany: combining is fast for any number of objects and manifestConfigs, with any names.
func FuzzCombineMany(f *testing.F) {
	f.Add(uint16(2400), uint16(2400), "e.io/Thing", "x", "r%d", "*")
	f.Add(uint16(4000), uint16(100), "e.io/Thing", "b-b-b-b", "r", "*b*b*z")
	f.Add(uint16(2400), uint16(2400), "e.io/Thing", "x", "things", "x%d")
	f.Add(uint16(1), uint16(4000), "/ConfigMap", "*", "", "**")
	f.Fuzz(func(t *testing.T, objects, configs uint16, kind, name, resource, pattern string) {
		to, from := spec("2", "/ConfigMap a/x"), &workv1.ManifestWorkSpec{}
		for i := range min(objects, 4000) {
			from.Workload.Manifests = append(from.Workload.Manifests, spec("1", fmt.Sprintf("%s a/%s%d", kind, name, i)).Workload.Manifests...)
		}
		for i := range min(configs, 4000) {
			c := config("e.io/r a/*", create)
			c.ResourceIdentifier.Resource, c.ResourceIdentifier.Name = fmt.Sprintf(resource, i), fmt.Sprintf(pattern, i)
			with(to, c)
		}
		size := (len(kind)+len(name)+100)*int(objects) + (len(resource)+len(pattern)+100)*int(configs)
		budget.Within(t, 20*time.Second, 64<<20+100*uint64(size), func() { _, _ = Combine(to, from, DefaultLimits()) })
	})
}
